// A search box over thumbnails of pictures; a click or the keyboard chooses one. See base.py.

const STYLE = `
.itmlab-gallery { font: 13px/18px Arial, sans-serif; color: var(--jp-ui-font-color1, #222); width: 100% }
.itmlab-gallery input { width: 300px; margin-right: 8px; padding: 2px 6px; color: inherit;
  background: var(--jp-layout-color1, #fff); border: 1px solid var(--jp-border-color1, #bbb) }
.itmlab-gallery .pictures { display: flex; flex-wrap: wrap; gap: 4px; margin-top: 4px }
.itmlab-gallery .pictures button { padding: 0; line-height: 0; background: none; cursor: pointer;
  border: 2px solid transparent }
.itmlab-gallery .pictures button[aria-pressed=true] { border-color: var(--jp-brand-color1, #0072b2) }
.itmlab-gallery img { width: 64px; height: 64px; object-fit: cover }`;

const create = (tag, properties = {}) => Object.assign(document.createElement(tag), properties);

export default {
  render({ model, el }) {
    const search = create("input", { type: "search", placeholder: "words of a caption, or a number" });
    search.setAttribute("aria-label", "search pictures");
    const back = create("button", { textContent: "‹", title: "earlier pictures" });
    const next = create("button", { textContent: "›", title: "further pictures" });
    const count = create("span"), pictures = create("div", { className: "pictures" });
    const bar = create("div");
    bar.append(search, back, next, " ", count);
    const box = create("div", { className: "itmlab-gallery" });
    box.append(create("style", { textContent: STYLE }), bar, pictures);
    el.append(box);

    const set = (name, value) => { model.set(name, value); model.save_changes(); };
    const show = () => {
      const listed = model.get("shown");
      count.textContent = model.get("note");
      back.disabled = model.get("page") === 0;
      next.disabled = model.get("is_last");
      pictures.replaceChildren(...listed.map(({ number, source, caption }) => {
        const button = create("button", { title: `${number}: ${caption}` });
        button.setAttribute("aria-pressed", number === model.get("value"));
        button.append(create("img", { src: source, alt: caption }));
        button.onclick = () => set("value", number);
        return button;
      }));
    };
    let waiting;
    search.oninput = () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => set("query", search.value), 250);
    };
    back.onclick = () => set("page", model.get("page") - 1);
    next.onclick = () => set("page", model.get("page") + 1);
    model.on("change:shown change:value", show);
    show();
    return () => model.off("change:shown change:value", show);
  },
};
