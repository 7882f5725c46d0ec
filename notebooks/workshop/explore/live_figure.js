// Draws a live figure in a page and reports clicks, hovers and selections to its model; see base.py.

const plotly = (library) => (window.itmlabPlotly ??= (async () => {
  const packed = new Blob([library.get("script")]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = await new Response(packed).text();
  const whole = `const module = {exports: {}}, exports = module.exports, define = undefined;${script}
    export default module.exports;`;
  const address = URL.createObjectURL(new Blob([whole], {type: "text/javascript"}));
  return (await import(address)).default;
})().catch((error) => { delete window.itmlabPlotly; throw error; }));

// In JupyterLab's dark theme every colour keeps its hue and is as light as it was dark; pictures stay as they are.
const dark = () => document.body.dataset.jpThemeLight === "false";
const atNight = (figure) => figure.replace(/(?<=[":])(#[0-9a-f]{6}\b|rgba?\([\d., ]+\))/gi, (colour) => {
  const [r, g, b, a = 1] = colour[0] === "#" ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))
    : colour.match(/[\d.]+/g).map(Number);
  const lighter = 255 - Math.max(r, g, b) - Math.min(r, g, b);
  return `rgba(${[r, g, b].map((each) => Math.round(17 + (each + lighter) * 238 / 255))},${a})`;
});

export default {
  async render({ model, el, signal }) {
    const held = (name) => model.widget_manager.get_model(model.get(name).slice("IPY_MODEL_".length));
    const state = await held("state");
    const note = document.createElement("div"), figure = document.createElement("div");
    note.style = "min-height: 18px; font: 13px/18px Arial, sans-serif; color: var(--jp-ui-font-color1)";
    note.setAttribute("role", "status");
    figure.setAttribute("role", "figure");
    el.replaceChildren(note, figure);

    let Plotly, drawn, drawing = false, seen = false, waiting;
    const draw = async () => {
      const wanted = dark() ? atNight(state.get("figure")) : state.get("figure");
      if (!seen || drawing || drawn === wanted || signal.aborted) return;
      drawing = true;
      const first = drawn === undefined;
      drawn = wanted;
      try {
        Plotly ??= await plotly(await held("library"));
        const { data, layout } = JSON.parse(wanted);
        await Plotly.react(figure, data, layout, { displaylogo: false });
        figure.style.minHeight = `${layout.height}px`;
        figure.setAttribute("aria-label", figure.querySelector(".gtitle")?.textContent ?? "");
        if (first && state.get("listens")) {
          const tell = (name, told) => { state.set(name, told); state.save_changes(); };
          const point = ({ data, customdata }) => ({ kind: data.meta, number: customdata });
          figure.on("plotly_click", ({ points }) => tell("click", { ...point(points[0]), at: Date.now() }));
          figure.on("plotly_hover", ({ points }) => tell("hover", point(points[0])));
          figure.on("plotly_unhover", () => tell("hover", {}));
          figure.on("plotly_selected", (event) => tell("lasso", (event?.points ?? []).map(point)));
          figure.on("plotly_deselect", () => tell("lasso", []));
        }
      } catch (error) {
        note.textContent = `This figure cannot be drawn: ${error}`;
      }
      drawing = false;
      draw();  // what came meanwhile; of several figures the last
    };
    const tell = () => {
      clearTimeout(waiting);
      const shown = (words, opacity) => { note.textContent = words; figure.style.opacity = opacity; };
      if (state.get("busy")) waiting = setTimeout(shown, 200, "computing …", 0.4);
      else shown(state.get("note"), 1);
    };
    // Plotly measures words, which it can only where they are seen; far up and down nothing is drawn before its time.
    const watch = new IntersectionObserver((all) => {
      seen = all.at(-1).isIntersecting;
      const sliders = el.closest(".widget-vbox")?.querySelectorAll(".widget-slider") ?? [];
      for (const slider of sliders) {  // which have no name that a screen reader could say
        const name = slider.querySelector(".widget-label").textContent;
        slider.querySelector(".noUi-handle").setAttribute("aria-label", name);
      }
      draw();
    });
    const theme = new MutationObserver(draw);
    theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    figure.style.minHeight = `${JSON.parse(state.get("figure")).layout.height ?? 450}px`;
    watch.observe(figure);
    state.on("change:figure", draw);
    state.on("change:busy change:note", tell);
    tell();
    return () => {
      watch.disconnect();
      theme.disconnect();
      state.off("change:figure", draw);
      state.off("change:busy change:note", tell);
      Plotly?.purge(figure);
    };
  },
};
