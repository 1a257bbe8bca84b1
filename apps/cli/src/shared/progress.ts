import { Presets, SingleBar } from 'cli-progress';

const PLAIN_LINE_INTERVAL_MS = 2_000;

/** How far a command is: a bar on a terminal, and plain lines, at most one in two seconds, where there is none. */
export class Progress {
  readonly #bar: SingleBar | undefined;
  #line = '';
  #writtenAtMs = -Infinity;

  constructor(private readonly stream: NodeJS.WriteStream) {
    if (!stream.isTTY) return;
    const format = '{bar} {percentage} %  {what}';
    this.#bar = new SingleBar({ stream, format, barsize: 28, hideCursor: null, clearOnComplete: false }, Presets.shades_classic);
    this.#bar.start(100, 0, { what: '' });
  }

  /** `share` is from 0 to 1, `what` is being done now. */
  show(share: number, what: string): void {
    const percent = Math.floor(100 * Math.min(1, share));
    if (this.#bar) return this.#bar.update(percent, { what });
    const line = `${String(percent).padStart(3)} %  ${what}`;
    if (line === this.#line || (percent < 100 && performance.now() - this.#writtenAtMs < PLAIN_LINE_INTERVAL_MS)) return;
    this.#line = line;
    this.#writtenAtMs = performance.now();
    this.stream.write(`${line}\n`);
  }

  /** Ends the line of the bar; harmless to repeat. */
  end(): void {
    this.#bar?.stop();
  }
}
