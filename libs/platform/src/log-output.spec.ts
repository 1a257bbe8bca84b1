import { Writable } from 'node:stream';
import { FileOutput, PipeOutput } from './log-output.js';

/** A pipe that takes a line only when its reader reads. */
function slowPipe() {
  const read: string[] = [];
  const waiting: (() => void)[] = [];
  const pipe = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      waiting.push(() => {
        read.push(line);
        done();
      });
    },
  });
  const readOn = async (): Promise<void> => {
    for (let take = waiting.shift(); take; take = waiting.shift()) {
      take();
      await new Promise(setImmediate);
    }
  };
  return { pipe, read, readOn };
}

describe('a log on a pipe', () => {
  it('keeps a bounded backlog for a slow reader, and reports afterwards how many lines were lost', async () => {
    const { pipe, read, readOn } = slowPipe();
    const lost: number[] = [];
    const output = new PipeOutput(pipe, (lines) => lost.push(lines), 10);
    for (const line of ['1234\n', '5678\n', 'lost\n', 'lost\n']) output.write(line);
    expect(pipe.writableLength).toBe(10);
    await readOn();
    expect(read).toEqual(['1234\n', '5678\n']);
    // Writable tells of a drain only above its own mark, which a real backlog is far above.
    pipe.emit('drain');
    expect(lost).toEqual([2]);
    output.write('9\n');
    await readOn();
    expect(read.at(-1)).toBe('9\n');
  });

  it('calls back from flush when its reader has read everything', async () => {
    const { pipe, readOn } = slowPipe();
    const output = new PipeOutput(pipe, () => undefined);
    let flushed = false;
    output.write('a\n');
    output.flush(() => (flushed = true));
    await new Promise(setImmediate);
    expect(flushed).toBe(false);
    await readOn();
    expect(flushed).toBe(true);
  });

  it('drops all lines, and calls back from flush at once, when its reader has closed the pipe', async () => {
    const pipe = new Writable({ write: (_line, _encoding, done) => done(Object.assign(new Error('gone'), { code: 'EPIPE' })) });
    const output = new PipeOutput(pipe, () => undefined);
    output.write('a\n');
    await new Promise(setImmediate);
    output.write('b\n');
    expect(await new Promise<string>((resolve) => output.flush(() => resolve('flushed')))).toBe('flushed');
  });
});

describe('a log in a file', () => {
  it('continues after the disk was full, and reports how many lines were lost', () => {
    const lines: string[] = [];
    const lost: number[] = [];
    let full = false;
    const output = new FileOutput(
      1,
      (count) => lost.push(count),
      (_fd, line) => {
        if (full) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
        lines.push(line);
      },
    );
    output.write('a');
    full = true;
    output.write('b');
    output.write('c');
    full = false;
    output.write('d');
    output.write('e');
    expect(lines).toEqual(['a', 'd', 'e']);
    expect(lost).toEqual([2]);
  });
});
