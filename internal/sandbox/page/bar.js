// The bar above: the worker, which can be killed, and faults, which can be switched on.
import { mind } from "./mind.js";
import { $, on, send } from "./state.js";

const faults = [...document.querySelectorAll("[data-fault]")];
let misbehaviour = []; // of Slack's: what there is, and whether it is on

export function takeFaults(all) {
  misbehaviour = all;
  draw();
}

// faultsOn names what is switched on, the model's too.
export const faultsOn = () => [...misbehaviour.filter(m => m.on).map(m => m.name), ...mind.latest?.model === "down" ? ["model"] : []];

// setFault switches a fault on or off, and returns what was refused.
export const setFault = (name, on) => name === "model" ? send("mind/model", { down: on }) : send("misbehave", { name, on });

export const setWorker = what => send("mind/worker", { do: what });

const lamps = { running: "Worker running", starting: "Worker starting …", stopped: "Worker dead" };

let worker = ""; // as it was told last, of whatever conversation

function draw() {
  worker = mind.latest?.worker || worker;
  const known = worker && mind.connected, says = known ? lamps[worker] : worker ? "Not connected" : "Connecting …";
  if ($("worker-state").textContent !== says) $("worker-state").textContent = says;
  $("bar").dataset.worker = known ? worker : "";
  const kills = worker === "running" || !worker;
  $("worker").textContent = kills ? "Kill the worker" : "Start the worker";
  $("worker").classList.toggle("danger", kills);
  $("worker").classList.toggle("primary", !kills);
  $("worker").setAttribute("aria-disabled", String(!known || worker === "starting"));
  const active = faultsOn();
  for (const b of faults) {
    b.setAttribute("aria-pressed", String(active.includes(b.dataset.fault)));
    b.title = misbehaviour.find(m => m.name === b.dataset.fault)?.title || b.title;
  }
  $("open-faults").textContent = active.length ? `Faults (${active.length})` : "Faults";
}

for (const b of faults) b.addEventListener("click", () => setFault(b.dataset.fault, b.getAttribute("aria-pressed") !== "true"));
$("worker").addEventListener("click", () => {
  if (worker === "running") setWorker("kill");
  else if (worker === "stopped") setWorker("start");
});
on("mind", draw);
