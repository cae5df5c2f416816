// Shows an error if a script of the page cannot be loaded, because then none of the modules
// runs. This script is not a module and runs before them.
addEventListener("error", e => {
  if (e.target.tagName !== "SCRIPT") return;
  document.getElementById("status").textContent = document.getElementById("worker-state").textContent = "Not loaded";
  document.getElementById("problem").textContent = "A part of this page could not be loaded. Is the sandbox running? Then load the page again.";
  document.getElementById("problem").hidden = false;
}, true);
