import type { Locator, Page } from '@playwright/test';
import { join } from 'node:path';

/** How long a frame is shown, in milliseconds. */
const FRAME = 150;

/** Below it are the caption, notifications and the status bar. */
const LOWEST = 500;

/** The pointer, the key that is pressed and a caption, above the page. */
const STYLE = `
  #picture-pointer {
    position: fixed; left: 0; top: 0; z-index: 100000; width: 22px; height: 26px;
    pointer-events: none; filter: drop-shadow(0 1px 2px #0008);
  }
  #picture-key, #picture-caption {
    position: fixed; bottom: 34px; z-index: 100000; pointer-events: none;
    padding: 6px 12px; border-radius: 6px; color: #fff; background: #222e;
    font: 600 17px/1.3 sans-serif;
  }
  #picture-caption { left: 40px; }
  #picture-key { left: 50%; transform: translateX(-50%); bottom: 84px; font-size: 24px; background: #1769aae8; }
  #picture-key:empty, #picture-caption:empty { display: none; }
`;
const POINTER = `<svg viewBox="0 0 22 26" width="22" height="26">
  <path d="M2 1 L2 20 L7 15.5 L10.5 24 L14 22.5 L10.5 14.5 L17.5 14 Z" fill="#111" stroke="#fff" stroke-width="1.6"/>
</svg>`;

/**
 * Takes the frames of a moving picture while a person uses a page.
 *
 * Each frame is a file whose name has its number and how long it is shown, whatever the time is
 * that the machine needs for it. `python ui-tests --screenshot` makes one file of them.
 */
export class MovingPicture {
  private x = 500;
  private y = 350;
  private frames = 0;

  private constructor(
    private readonly page: Page,
    private readonly folder: string
  ) {}

  /** Add the pointer to the page that is loaded now. */
  static async start(page: Page, folder: string): Promise<MovingPicture> {
    await page.addStyleTag({ content: STYLE });
    await page.evaluate(pointer => {
      for (const [id, content] of [
        ['picture-pointer', pointer],
        ['picture-key', ''],
        ['picture-caption', '']
      ]) {
        const node = document.createElement('div');
        node.id = id;
        node.ariaHidden = 'true';
        node.innerHTML = content;
        document.body.append(node);
      }
    }, POINTER);
    const picture = new MovingPicture(page, folder);
    await picture.placePointer();
    return picture;
  }

  /** Show what happens for so long. */
  async show(milliseconds: number): Promise<void> {
    for (let rest = milliseconds; rest > 0; rest -= FRAME) {
      await this.takeFrame();
    }
  }

  async setCaption(text: string): Promise<void> {
    await this.setText('picture-caption', text);
  }

  /** Move the pointer to the middle of an element. */
  private async moveTo(target: Locator): Promise<void> {
    const { x, y } = await this.find(target);
    await this.glideTo(x, y);
  }

  private async glideTo(x: number, y: number): Promise<void> {
    const [startX, startY] = [this.x, this.y];
    const steps = Math.max(3, Math.min(7, Math.round(Math.hypot(x - startX, y - startY) / 70)));
    for (let step = 1; step <= steps; step++) {
      // Slower at both ends, as a hand is.
      const part = (1 - Math.cos((Math.PI * step) / steps)) / 2;
      this.x = startX + (x - startX) * part;
      this.y = startY + (y - startY) * part;
      await this.placePointer();
      await this.takeFrame();
    }
  }

  async click(target: Locator): Promise<void> {
    await this.moveTo(target);
    await this.page.mouse.down();
    await this.takeFrame();
    await this.page.mouse.up();
    await this.takeFrame();
  }

  /** Drag an element to the side. */
  async drag(target: Locator, distance: number): Promise<void> {
    await this.moveTo(target);
    await this.page.mouse.down();
    await this.glideTo(this.x + distance, this.y);
    await this.page.mouse.up();
  }

  /** Press a key, and show its name with what it does. */
  async press(key: string, meaning: string): Promise<void> {
    await this.setText('picture-key', `${key.replace('+', '-')}: ${meaning}`);
    await this.show(2 * FRAME);
    await this.page.keyboard.press(key.length === 1 ? key.toLowerCase() : key);
    await this.show(4 * FRAME);
    await this.setText('picture-key', '');
  }

  async type(text: string): Promise<void> {
    for (const letter of text) {
      await this.page.keyboard.type(letter);
      await this.takeFrame();
    }
  }

  /** Take a picture without pointer and captions. */
  async takePicture(path: string): Promise<void> {
    // Notifications slide in.
    await this.page.waitForTimeout(600);
    const style = '#picture-pointer, #picture-key, #picture-caption { visibility: hidden; }';
    await this.page.screenshot({ path, style });
  }

  /** Return the middle of an element; turn the wheel until it is where nothing covers it. */
  private async find(target: Locator): Promise<{ x: number; y: number }> {
    for (;;) {
      // This waits for the element.
      const box = (await target.boundingBox())!;
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      if (y < LOWEST) {
        return { x, y };
      }
      await this.page.mouse.wheel(0, 60);
      await this.takeFrame();
    }
  }

  private async takeFrame(): Promise<void> {
    this.frames += 1;
    const name = `${String(this.frames).padStart(4, '0')}-${FRAME}.png`;
    await this.page.screenshot({ path: join(this.folder, name), caret: 'initial' });
  }

  private async placePointer(): Promise<void> {
    await this.page.mouse.move(this.x, this.y);
    await this.page.locator('#picture-pointer').evaluate(
      (node, [x, y]) => {
        node.style.translate = `${x}px ${y}px`;
      },
      [this.x, this.y]
    );
  }

  private async setText(id: string, text: string): Promise<void> {
    await this.page.locator(`#${id}`).evaluate((node, text) => {
      node.textContent = text;
    }, text);
  }
}
