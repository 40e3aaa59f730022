/* global document, getComputedStyle, getSelection, MutationObserver, requestAnimationFrame, window */

/**
 * What `tab.py` calls in the page, by `window.nbeditTest`.
 *
 * Texts, names and positions of elements are as a person perceives them; the rest is asked of JupyterLab.
 */
const app = window.jupyterapp;
const problems = [];
const dialogs = [];

// JupyterLab removes its splash screen twice if a theme is loaded twice within 200 ms.
const removeChild = document.body.removeChild.bind(document.body);
document.body.removeChild = child =>
  child.id === 'jupyterlab-splash' && !child.isConnected ? child : removeChild(child);

window.addEventListener('error', ({ message, error }) => {
  // Browsers report so that the observers of JupyterLab resize what they observe.
  if (!message.startsWith('ResizeObserver loop')) {
    problems.push(`${message} ${error?.stack ?? ''}`);
  }
});
window.addEventListener('unhandledrejection', ({ reason }) => {
  problems.push(`${reason} ${reason?.stack ?? ''}`);
});

const seenDialogs = new WeakSet();
new MutationObserver(() => {
  for (const dialog of document.querySelectorAll('.jp-Dialog')) {
    if (!seenDialogs.has(dialog)) {
      seenDialogs.add(dialog);
      dialogs.push(dialog.textContent);
    }
  }
}).observe(document, { childList: true, subtree: true });

/** The notebook that was opened last. */
let panel;
const getNotebook = () => panel.content;
const getCell = id => getNotebook().widgets.find(cell => cell.model.id === id);
const getIndex = id => getNotebook().widgets.indexOf(getCell(id));
const getOuter = () => getNotebook().node.querySelector('.jp-WindowedPanel-outer');

async function waitFrames(count) {
  for (let frame = 0; frame < count; frame++) {
    await new Promise(resolve => requestAnimationFrame(resolve));
  }
}

/** Wait until nothing has moved for 30 frames: JupyterLab lays cells out over many of them. */
async function waitForRest() {
  let before = '';
  for (let frames = 0; frames < 30;) {
    await waitFrames(1);
    const { scrollTop, scrollHeight } = getOuter();
    const now = `${scrollTop} of ${scrollHeight}`;
    frames = now === before ? frames + 1 : 0;
    before = now;
  }
}

function isVisible(element) {
  const { width, height } = element.getBoundingClientRect();
  return width > 0 && height > 0 && getComputedStyle(element).visibility !== 'hidden';
}

function getName(element) {
  return (element.getAttribute('aria-label') ?? element.textContent).trim();
}

/** Return the visible elements of a selector, with a name that begins so, in a cell or anywhere. */
function findAll(selector, name, cell) {
  const root = cell ? getCell(cell)?.node : document;
  return [...(root?.querySelectorAll(selector) ?? [])].filter(
    element => isVisible(element) && getName(element).startsWith(name)
  );
}

function isInWindow({ top, bottom, left, right }) {
  return top >= 0 && left >= 0 && bottom <= window.innerHeight && right <= window.innerWidth;
}

/** Return the luminance of a CSS colour on a background, from 0 (black) to 1, as WCAG defines it. */
function measureLuminance(...colours) {
  const context = document.createElement('canvas').getContext('2d');
  for (const colour of colours) {
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
  }
  const [red, green, blue] = [...context.getImageData(0, 0, 1, 1).data].map(value => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Return the background colours below an element's text, the lowest first. */
function getBackgrounds(element) {
  const colours = [];
  for (let node = element; node !== null; node = node.parentElement) {
    colours.unshift(getComputedStyle(node).backgroundColor);
  }
  return colours;
}

let drifts = [];
let isSampling = false;

window.nbeditTest = {
  dialogs: () => dialogs,
  problems: () => problems,
  waitForRest,

  async open(path) {
    const factory = app.docRegistry.getWidgetFactory('Notebook');
    // The same as "Notebook (no kernel)".
    Object.defineProperty(factory, 'preferKernel', { value: false, configurable: true });
    panel = await app.commands.execute('docmanager:open', { path, factory: 'Notebook' });
    await panel.context.ready;
    await panel.revealed;
    // A browser may drop the focus that a page asks for while it loads.
    while (app.shell.currentWidget !== panel) {
      app.shell.activateById(panel.id);
      await waitFrames(10);
    }
    await waitForRest();
  },
  async run(command, args) {
    await app.commands.execute(command, args);
  },
  close(id) {
    [...app.shell.widgets()].find(widget => widget.id === id).close();
  },

  // The notebook.
  ids: () => getNotebook().widgets.map(cell => cell.model.id),
  source: id => getCell(id)?.model.sharedModel.getSource() ?? null,
  isDirty: () => panel.context.model.dirty,
  mode: () => getNotebook().mode,
  activeCell: () => getNotebook().activeCell.model.id,
  markedCells: () =>
    getNotebook()
      .widgets.filter(({ node }) => node.querySelector('.jp-nbedit-mark'))
      .map(cell => cell.model.id),
  /** Activate a cell in command mode, as a click on its prompt does. */
  activate(id) {
    getNotebook().activeCellIndex = getIndex(id);
    getNotebook().mode = 'command';
    getNotebook().activate();
  },
  caret() {
    const { editor, model } = getNotebook().activeCell;
    const { start, end } = editor.getSelection();
    return { cell: model.id, start, end, hasFocus: editor.hasFocus() };
  },

  // Where things are.
  async scrollTo(id) {
    // A windowed notebook guesses the heights of cells first.
    do {
      await getNotebook().scrollToItem(getIndex(id), 'center');
      await waitForRest();
    } while (!window.nbeditTest.isInView(id));
  },
  isInView(id) {
    const { node } = getCell(id);
    const cell = node.getBoundingClientRect();
    const outer = getOuter().getBoundingClientRect();
    return node.isConnected && cell.bottom > outer.top && cell.top < outer.bottom;
  },
  top: id => getCell(id).node.getBoundingClientRect().top,
  scrollTop: () => getOuter().scrollTop,
  /** Measure in each frame how far a cell is from where it is now. */
  startSampling(id) {
    const start = window.nbeditTest.top(id);
    drifts = [];
    isSampling = true;
    const sample = () => {
      drifts.push(window.nbeditTest.top(id) - start);
      if (isSampling) {
        requestAnimationFrame(sample);
      }
    };
    sample();
  },
  stopSampling() {
    isSampling = false;
    return drifts;
  },

  // What is on the page.
  count: (...what) => findAll(...what).length,
  read: (...what) => findAll(...what)[0]?.innerText ?? '',
  /** Return where an element can be clicked, after it has come to rest, or why it cannot be. */
  async point(...what) {
    const [element] = findAll(...what);
    if (!element) {
      return { x: 0, y: 0, problem: 'it is not there' };
    }
    if (!isInWindow(element.getBoundingClientRect())) {
      element.scrollIntoView({ block: 'center' });
    }
    const before = element.getBoundingClientRect();
    await waitFrames(4);
    const { left, top, width, height } = element.getBoundingClientRect();
    if (left !== before.left || top !== before.top) {
      return { x: 0, y: 0, problem: 'it moves' };
    }
    // Large elements are clicked near their beginning.
    const x = left + Math.min(width / 2, 200);
    const y = top + height / 2;
    const hit = document.elementFromPoint(x, y);
    return {
      x,
      y,
      problem: element.contains(hit) ? '' : `it is below ${hit?.tagName} ${hit?.className}`
    };
  },
  hasFocus: selector => document.activeElement?.closest(selector) != null,
  focusedName: () => getName(document.activeElement),
  /** Return the id of the cell with the block that has the focus, or ''. */
  focusedBlock() {
    const block = document.activeElement?.closest('.jp-nbedit-block');
    return getNotebook().widgets.find(({ node }) => node.contains(block))?.model.id ?? '';
  },
  focus(selector) {
    document.querySelector(selector).focus();
  },
  /** Select the contents of an element, and return the text that would be copied. */
  select(...what) {
    const selection = getSelection();
    selection.selectAllChildren(findAll(...what)[0]);
    return String(selection);
  },
  contrast(...what) {
    const [element] = findAll(...what);
    const backgrounds = getBackgrounds(element);
    const background = measureLuminance(...backgrounds);
    const text = measureLuminance(...backgrounds, getComputedStyle(element).color);
    return (Math.max(text, background) + 0.05) / (Math.min(text, background) + 0.05);
  }
};
