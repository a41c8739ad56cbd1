// Applies the stored theme and density before the first paint, to avoid a flash (`ui/preferences.rs`).
// It is a separate file because the Content-Security-Policy permits no inline scripts.
(function () {
  try {
    var theme = localStorage.getItem("lockkeeper.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    if (localStorage.getItem("lockkeeper.density") === "dense") document.documentElement.dataset.density = "dense";
  } catch (_) {
    // Storage is disabled: the preference of the system applies.
  }
  // Shows a notice if the WebAssembly program cannot be loaded or started. The page rendered by the server stays readable.
  addEventListener("unhandledrejection", function (event) {
    var broken = document.getElementById("broken");
    if (broken && /WebAssembly|wasm|import|fetch/i.test(String(event.reason))) broken.hidden = false;
  });
})();
