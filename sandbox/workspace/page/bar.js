// The bar at the top: kill or start the worker, and switch faults on or off.
import { mind } from "./mind.js";
import { $, on, send } from "./state.js";

const faults = [...document.querySelectorAll("[data-fault]")];
let misbehaviour = []; // Slack's faults and whether each is on

export function takeFaults(all) {
  misbehaviour = all;
  draw();
}

// faultsOn returns the names of the active faults, including the model's.
export const faultsOn = () => [...misbehaviour.filter(m => m.on).map(m => m.name), ...mind.latest?.model === "down" ? ["model"] : []];

// setFault switches a fault on or off. It returns the error message, or "".
export const setFault = (name, on) => name === "model" ? send("mind/model", { down: on }) : send("misbehave", { name, on });

export const setWorker = what => send("mind/worker", { do: what });

const workerLabels = { running: "Worker running", starting: "Worker starting …", stopped: "Worker dead" };

let worker = ""; // the last known state, from any conversation

function draw() {
  worker = mind.latest?.worker || worker;
  const known = worker && mind.connected, says = known ? workerLabels[worker] : worker ? "Not connected" : "Connecting …";
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
