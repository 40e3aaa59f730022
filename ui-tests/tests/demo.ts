import { expect } from '@playwright/test';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** The command `jupyter nbedit demo`, which goes on when it is told to. */
export class Demo {
  private constructor(
    private readonly process: ChildProcess,
    private readonly read: () => string
  ) {}

  /** Start it without a page. */
  static async start(): Promise<Demo> {
    const command = join(process.env.NBEDIT_ENV!, 'bin', 'jupyter');
    const child = spawn(command, ['nbedit', 'demo', '--no-browser', '--step']);
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    const demo = new Demo(child, () => printed);
    try {
      await demo.waitFor(/Ctrl-C ends/);
    } catch (error) {
      await demo.stop();
      throw error;
    }
    return demo;
  }

  /** The address of the page, with the token. */
  get address(): string {
    return /http:\S+/.exec(this.read())![0];
  }

  /** Wait until it waits for Enter, and press Enter. */
  async goOn(): Promise<void> {
    await expect
      .poll(() => this.read().split('Press Enter to go on.').length - 1, { message: this.read() })
      .toBeGreaterThan(this.count);
    this.count += 1;
    this.process.stdin!.write('\n');
  }

  /** Wait until the step with this number has begun; return its title as it is printed. */
  async waitForStep(step: number): Promise<string> {
    return (await this.waitFor(new RegExp(`^${step} of \\d+: (.*)$`, 'm')))[1];
  }

  async stop(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const ended = once(this.process, 'exit');
      this.process.kill('SIGTERM');
      await ended;
    }
  }

  private async waitFor(pattern: RegExp): Promise<RegExpExecArray> {
    await expect.poll(this.read).toMatch(pattern);
    return pattern.exec(this.read())!;
  }

  /** How often Enter was pressed. */
  private count = 0;
}
