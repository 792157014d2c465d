"use strict";
// What the pages can do beyond being read: narrow lists by words, and say the values of a night.
(() => {
  const byId = (id) => document.getElementById(id);
  const fill = (element, text) => { if (element) element.textContent = text; };

  function narrowing() {
    const search = byId("search"), names = byId("names");
    const links = [...names.querySelectorAll("[data-name]")];
    const rows = [...document.querySelectorAll("[data-find]")];
    search.form.hidden = false;

    const show = (elements, key, terms) => elements.filter((element) => {
      const text = element.dataset[key].toLowerCase();
      element.hidden = !terms.every((term) => text.includes(term));
      return !element.hidden;
    }).length;

    function narrow() {
      const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = show(links, "name", terms), here = show(rows, "find", terms);
      names.open = terms.length > 0;
      fill(byId("found"), terms.length === 0 ? "" : `${found} of ${links.length} names, ` +
        `${here} of ${rows.length} entries of this page`);
    }

    search.addEventListener("input", narrow);
    search.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const first = links.find((link) => !link.hidden);
      if (search.value.trim() && first) first.click();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && event.target !== search && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        search.focus();
      } else if (event.key === "Escape" && event.target === search) {
        search.value = "";
        narrow();
      }
    });
  }

  const ratio = (speed) => speed >= 0.1 ? speed.toFixed(3) : speed.toPrecision(3);

  // The nights of all charts of a page, and where on the axis of time they are.
  function hovering(nights, charts) {
    const [left, right] = nights.frame;
    const last = nights.at.length - 1;

    function words(chart, night) {
      const head = [nights.dates[night], nights.commits[night],
        nights.disturbed.includes(night) && "disturbed"].filter(Boolean).join(" · ");
      const outcome = chart.outcomes[night];
      if (outcome) return `${head} · ${outcome.replace("_", " ")}`;
      if (chart.speed[night] === null) return `${head} · not visited`;
      const speed = chart.speed[night];
      const interval = chart.below[night] === null ? "" :
        ` (${ratio(speed * (1 - chart.below[night] / 1e4))} to ` +
        `${ratio(speed * (1 + chart.above[night] / 1e4))})`;
      const clock = chart.mhz[night] === null ? "" : ` · ${chart.mhz[night]} MHz`;
      return `${head} · ${ratio(speed)} × control${interval}` +
        ` · ${chart.rate[night]} ${nights.unit}${clock}`;
    }

    const nearest = (place) => nights.at.reduce((best, at, night) =>
      Math.abs(at - place) < Math.abs(nights.at[best] - place) ? night : best, 0);

    for (const group of document.querySelectorAll("[data-chart]")) {
      const chart = charts[group.dataset.chart];
      const readout = byId(`${group.dataset.chart}-readout`);
      const atRest = readout.textContent;
      const cursors = [...group.querySelectorAll(".plot")].map((plot) => {
        const cursor = plot.appendChild(document.createElement("div"));
        cursor.className = "cursor";
        cursor.hidden = true;
        return cursor;
      });
      let shown = last;

      function show(night) {
        shown = night;
        fill(readout, words(chart, night));
        for (const cursor of cursors) {
          cursor.hidden = false;
          cursor.style.left = `${100 * (left + nights.at[night] * (right - left))}%`;
        }
      }
      function rest() {
        shown = last;
        fill(readout, atRest);
        for (const cursor of cursors) cursor.hidden = true;
      }

      group.addEventListener("pointermove", (event) => {
        const plot = event.target.closest(".plot");
        if (!plot) return;
        const box = plot.getBoundingClientRect();
        const share = (event.clientX - box.left) / box.width;
        show(nearest((share - left) / (right - left)));
      });
      group.addEventListener("pointerleave", rest);
      group.addEventListener("blur", rest);
      group.addEventListener("keydown", (event) => {
        const to = { ArrowLeft: shown - 1, ArrowRight: shown + 1, Home: 0, End: last }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        show(Math.min(Math.max(to, 0), last));
      });
    }
  }

  narrowing();
  const values = byId("hover");
  if (values) {
    const { nights, charts } = JSON.parse(values.textContent);
    hovering(nights, charts);
  }
})();
