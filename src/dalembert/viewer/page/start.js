// Finds what is to be shown on this page, and starts it.

function sayInstead(root, text) {
  root.append(element('p', { class: 'da-message', role: 'alert' }, text));
}

async function startPlayer(root) {
  const scene = JSON.parse(root.querySelector('script').textContent);
  if (typeof DecompressionStream === 'undefined') {
    sayInstead(root, 'This browser is too old for this page: it cannot unpack the data (no DecompressionStream).');
    return;
  }
  const data = await unpacked(scene.data);
  root.player = new Player(root, scene, data, document.documentElement.dataset.kind === 'viewer');
  root.dataset.ready = '1';
}

async function startFigures(root) {
  const { plots, data } = JSON.parse(root.querySelector('script').textContent);
  if (typeof DecompressionStream === 'undefined') return;
  const { tables } = await unpacked(data);
  const made = plots.map((plot) => new Plot(root, plot, tables[plot.table], null));
  const draw = () => made.forEach((plot) => plot.draw(currentTheme()));
  new ResizeObserver(() => {
    made.forEach((plot) => plot.resize());
    draw();
  }).observe(root);
  addEventListener('da-theme', draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  root.dataset.ready = '1';
}

for (const [selector, start] of [['.da-player', startPlayer], ['.da-figures', startFigures]])
  for (const root of document.querySelectorAll(selector))
    start(root).catch((error) => {
      sayInstead(root, `This could not be shown: ${error.message}`);
      console.error(error);
    });
for (const button of document.querySelectorAll('.da-theme-switch')) button.addEventListener('click', toggleTheme);
