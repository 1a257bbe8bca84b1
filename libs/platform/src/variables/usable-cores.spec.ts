import { usableCores } from './usable-cores.js';

const files =
  (content: Readonly<Record<string, string>>) =>
  (path: string): string => {
    const text = content[path];
    if (text === undefined) throw new Error('ENOENT');
    return text;
  };

test.each([
  ['without a container', {}, 8],
  ['with a share without a bound', { '/sys/fs/cgroup/cpu.max': 'max 100000\n' }, 8],
  ['with two cores', { '/sys/fs/cgroup/cpu.max': '200000 100000\n' }, 2],
  ['with one core and a half', { '/sys/fs/cgroup/cpu.max': '150000 100000\n' }, 2],
  ['with a tenth of a core', { '/sys/fs/cgroup/cpu.max': '10000 100000\n' }, 1],
  ['with more than there are', { '/sys/fs/cgroup/cpu.max': '6400000 100000\n' }, 8],
  ['with something else in the file', { '/sys/fs/cgroup/cpu.max': 'what?\n' }, 8],
  [
    'with a share in the older form',
    { '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '300000\n', '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n' },
    3,
  ],
  [
    'without a bound in the older form',
    { '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n', '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n' },
    8,
  ],
])('a machine of eight cores %s', (_, content, cores) => {
  expect(usableCores(files(content), 8)).toBe(cores);
});
