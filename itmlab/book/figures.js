// A figure is a picture until it is near the window and the page has room for it; then plotly draws it in its place.
// Data come as scripts, not by fetch, which a page opened from the disk may not use.
(() => {
  const arrived = {}, scripts = {};
  const load = (file) => (scripts[file] ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${document.documentElement.dataset.content_root}_static/${file}`;
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  }));
  window.itmlabFigure = (name, figure) => { arrived[name] = figure; };

  const show = async (place) => {
    const [picture, live] = place.children, { figure, width } = place.dataset;
    const room = place.clientWidth >= Number(width) || !picture.hasAttribute("src");
    if (room && !live.hasChildNodes()) {
      await Promise.all([load("plotly.min.js"), load(`figures/${figure}.js`)]);
      const { data, layout } = arrived[figure];
      await Plotly.newPlot(live, data, layout, { displaylogo: false });
    }
    picture.hidden = room;
    live.hidden = !room;
  };
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      new ResizeObserver(() => show(target)).observe(target);
    }
  }, { rootMargin: "300px" });
  addEventListener("DOMContentLoaded", () => document.querySelectorAll(".itmlab-figure").forEach((one) => seen.observe(one)));
})();
