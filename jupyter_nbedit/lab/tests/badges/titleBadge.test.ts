import { Signal } from '@lumino/signaling';
import type { Title, Widget } from '@lumino/widgets';
import { beforeEach, expect, test } from 'vitest';
import { TitleBadge, type TabTitle } from '../../src/badges/titleBadge';

/** A title that tells of changes as Lumino's does, which needs a browser. */
class TestTitle implements TabTitle {
  readonly changed = new Signal<Title<Widget>, void>(this as unknown as Title<Widget>);

  get caption(): string {
    return this._caption;
  }

  set caption(value: string) {
    if (value !== this._caption) {
      this._caption = value;
      this.changed.emit();
    }
  }

  get className(): string {
    return this._className;
  }

  set className(value: string) {
    if (value !== this._className) {
      this._className = value;
      this.changed.emit();
    }
  }

  private _caption = 'Name: a.ipynb';
  private _className = 'jp-mod-other';
}

let title: TestTitle;
let badge: TitleBadge;

beforeEach(() => {
  title = new TestTitle();
  badge = new TitleBadge(title);
});

test('a badge adds a class and a text to a tab, and takes both away again', () => {
  badge.text = '3 unseen changes';
  expect(title.caption).toBe('Name: a.ipynb\n3 unseen changes');
  expect(title.className).toBe('jp-mod-other jp-mod-nbedit-unseen');
  badge.text = '1 unseen change';
  expect(title.caption).toBe('Name: a.ipynb\n1 unseen change');
  badge.text = '';
  expect(title.caption).toBe('Name: a.ipynb');
  expect(title.className).toBe('jp-mod-other');
});

test('a badge stays when JupyterLab writes the caption and the classes', () => {
  badge.text = '3 unseen changes';
  title.caption = 'Name: b.ipynb';
  title.className = 'jp-mod-dirty';
  expect(title.caption).toBe('Name: b.ipynb\n3 unseen changes');
  expect(title.className).toBe('jp-mod-dirty jp-mod-nbedit-unseen');
  title.caption = title.caption.replace('b.ipynb', 'c.ipynb');
  expect(title.caption).toBe('Name: c.ipynb\n3 unseen changes');
  badge.text = '';
  expect(title.caption).toBe('Name: c.ipynb');
  expect(title.className).toBe('jp-mod-dirty');
});

test('a badge that is disposed leaves the tab alone', () => {
  badge.dispose();
  title.caption = 'Name: b.ipynb';
  expect(title.caption).toBe('Name: b.ipynb');
});
