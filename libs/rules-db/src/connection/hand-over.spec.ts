import { handOver } from './hand-over.js';

/** Items and works that wait until the test lets them go on. */
function bed() {
  const log: string[] = [];
  const gates = new Map<string, { open: () => void; fail: (error: Error) => void }>();
  const gate = (name: string) =>
    new Promise<void>((resolve, reject) => {
      log.push(name);
      gates.set(name, { open: resolve, fail: reject });
    });
  async function* items(count: number) {
    for (let i = 1; i <= count; i++) {
      await gate(`make ${i}`);
      yield i;
    }
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const pass = async (name: string) => {
    gates.get(name)!.open();
    await settled();
  };
  const fail = async (name: string) => {
    gates.get(name)!.fail(new Error(`${name} failed`));
    await settled();
  };
  return { log, items, work: (i: number) => gate(`write ${i}`), pass, fail };
}

describe('handOver', () => {
  it('makes the next item while one is worked on, and never a further one', async () => {
    const { log, items, work, pass } = bed();
    const done = handOver(items(3), work);
    await pass('make 1');
    expect([...log].sort()).toEqual(['make 1', 'make 2', 'write 1']);
    await pass('make 2');
    expect(log).not.toContain('write 2');
    expect(log).not.toContain('make 3');
    await pass('write 1');
    expect(log).toContain('write 2');
    await pass('write 2');
    await pass('make 3');
    await pass('write 3');
    await done;
  });

  it('rejects only when nothing is under way, with what failed first', async () => {
    const { items, work, pass, fail } = bed();
    let isOver = false;
    const done = handOver(items(3), work).finally(() => (isOver = true));
    const failed = expect(done).rejects.toThrow('make 2 failed');
    await pass('make 1');
    await fail('make 2');
    expect(isOver).toBe(false);
    await fail('write 1');
    await failed;

    const second = bed();
    const other = expect(handOver(second.items(3), second.work)).rejects.toThrow('write 1 failed');
    await second.pass('make 1');
    await second.fail('write 1');
    await second.fail('make 2');
    await other;
    expect(second.log).not.toContain('write 2');
  });

  it('takes lists, and ends with an empty one', async () => {
    const seen: number[] = [];
    await handOver([1, 2, 3], (i) => Promise.resolve(seen.push(i)));
    await handOver([], () => Promise.reject(new Error('nothing to do')));
    expect(seen).toEqual([1, 2, 3]);
  });
});
