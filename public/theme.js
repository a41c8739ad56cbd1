// Runs before the first paint, so that a chosen theme never flashes. A file of its own, because the page allows no inline script.
(function () {
  try {
    var chosen = localStorage.getItem("lockkeeper.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch (_) {
    // Storage is switched off: the system's preference decides.
  }
})();
