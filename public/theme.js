// Runs before the first paint, so that a chosen theme or density never flashes (`ui/preferences.rs`). A file of its own, because the page allows no inline script.
(function () {
  try {
    var chosen = localStorage.getItem("lockkeeper.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
    if (localStorage.getItem("lockkeeper.density") === "dense") document.documentElement.dataset.density = "dense";
  } catch (_) {
    // Storage is switched off: the system's preference decides.
  }
  // The page's program could not be loaded or started: what the server painted can be read, and nothing else works.
  addEventListener("unhandledrejection", function (event) {
    var broken = document.getElementById("broken");
    if (broken && /WebAssembly|wasm|import|fetch/i.test(String(event.reason))) broken.hidden = false;
  });
})();
