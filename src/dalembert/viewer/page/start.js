// Finds what is to be shown on this page, and starts it.

const TOO_OLD = 'This browser is too old for this page: it cannot unpack the data (no DecompressionStream).';

function sayInstead(root, text) {
  root.append(element('p', { class: 'da-message', role: 'alert' }, text));
}

async function startPlayer(root) {
  const scene = JSON.parse(root.querySelector('script').textContent);
  const data = await unpacked(scene.data);
  Object.assign(scene, JSON.parse(data.text)); // bodies and other parts, which may be thousands
  root.player = new Player(root, scene, data, document.documentElement.dataset.kind === 'viewer');
}

/** Diagrams of a report; where there is an animation, they show its moment, and clicks go to a time of it. */
async function startFigures(root) {
  const { plots, data } = JSON.parse(root.querySelector('script').textContent);
  const { tables } = await unpacked(data);
  const animated = document.querySelector('.da-player');
  const jump = animated ? (t) => animated.player && animated.player.seekModel(t) : null;
  const made = plots.map((plot) => new Plot(root, plot, tables, jump));
  let cursor = null;
  const draw = () => made.forEach((plot) => plot.draw(currentTheme(), cursor));
  new ResizeObserver(() => {
    made.forEach((plot) => plot.resize());
    draw();
  }).observe(root);
  if (animated)
    animated.addEventListener('da-moment', ({ detail }) => {
      cursor = { t: detail };
      draw();
    });
  addEventListener('da-theme', draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
}

for (const [selector, start] of [['.da-player', startPlayer], ['.da-figures', startFigures]])
  for (const root of document.querySelectorAll(selector)) {
    if (typeof DecompressionStream === 'undefined') {
      sayInstead(root, TOO_OLD);
      continue;
    }
    start(root).then(
      () => (root.dataset.ready = '1'),
      (error) => {
        sayInstead(root, `This could not be shown: ${error.message}`);
        console.error(error);
      },
    );
  }
// paper is white
let before;
addEventListener('beforeprint', () => {
  before = document.documentElement.dataset.theme;
  setTheme('light');
});
addEventListener('afterprint', () => setTheme(before));
for (const button of document.querySelectorAll('.da-theme-switch')) button.addEventListener('click', toggleTheme);
