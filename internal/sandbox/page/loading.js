// Says so where a script of the page cannot be loaded: without one of them none runs. It is no
// module, and runs before them.
addEventListener("error", e => {
  if (e.target.tagName !== "SCRIPT") return;
  document.getElementById("status").textContent = document.getElementById("worker-state").textContent = "Not loaded";
  document.getElementById("problem").textContent = "A part of this page could not be loaded. Is the sandbox running? Then load the page again.";
  document.getElementById("problem").hidden = false;
}, true);
