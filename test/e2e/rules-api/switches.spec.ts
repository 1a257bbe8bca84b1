import { type Api, emptyRulesApi } from './api.js';

interface Scope {
  layer: string | null;
  merchantId: string | null;
  until: string | null;
  reason: string | null;
  by: string;
  since: string;
}
interface Switch {
  name: string;
  on: Scope[];
}

let api: Api;
beforeAll(async () => {
  api = await emptyRulesApi();
});

const KILL = '/v1/switches/kill';
const put = (body: object, headers?: Record<string, string>) => api.ask('PUT', KILL, body, headers);
const get = async () => (await api.ask('GET', KILL)).body as Switch;
const audited = async () => {
  const { items } = (await api.ask('GET', '/v1/audit')).body as { items: { action: string; reason: string | null }[] };
  return items.map(({ action, reason }) => [action, reason]);
};
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

describe('a switch that was read', () => {
  it.each(['nothing', 'three scopes'])('on for %s can be sent back, and nothing changes', async (what) => {
    if (what !== 'nothing') {
      await put({ on: true, merchantId: 'acme', reason: 'ticket OPS-17' });
      await put({ on: true, layer: 'network', until: inAnHour() });
      await put({ on: true });
    }
    const [read, before] = [await get(), await audited()];
    expect(read.on).toHaveLength(what === 'nothing' ? 0 : 3);
    const sent = await put(read, { 'x-change-reason': 'sent back' });
    expect([sent.status, sent.body]).toEqual([200, read]);
    expect([await get(), await audited()]).toEqual([read, before]);
  });

  it('can be sent back edited: it is on for what the list names, and for nothing else', async () => {
    const read = await get();
    const [acme, network] = read.on as [Scope, Scope];
    const edited = { ...read, on: [network, { ...acme, reason: 'ticket OPS-18' }, { merchantId: 'beta' }] };
    const { status, body } = await put(edited, { 'x-change-reason': 'cleaning up' });
    const scopes = (body as Switch).on.map(({ layer, merchantId, reason }) => [layer, merchantId, reason]);
    expect([status, scopes]).toEqual([
      200,
      [
        ['network', null, null],
        [null, 'acme', 'ticket OPS-18'],
        [null, 'beta', 'cleaning up'],
      ],
    ]);
    expect((await get()).on[0]).toEqual(network);
    expect((await audited()).slice(0, 3)).toEqual([
      ['switch.on', 'cleaning up'],
      ['switch.on', 'ticket OPS-18'],
      ['switch.off', 'cleaning up'],
    ]);
  });

  it('counts its changes, and is not overwritten by who has read an older version', async () => {
    const answer = await api.ask('GET', KILL);
    const [{ version }, etag] = [answer.body as { version: number }, answer.headers.get('etag')];
    expect(etag).toBe(`"${version}"`);
    const changed = await put({ on: true, merchantId: 'gamma', reason: 'first' }, { 'if-match': etag! });
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, `"${version + 1}"`]);
    expect(await put({ on: [] }, { 'if-match': etag! })).toMatchObject({ status: 412 });
    expect((await get()).on.map(({ merchantId }) => merchantId)).toContain('gamma');
    // What changes nothing leads to no new version.
    expect((await put(changed.body as object, { 'if-match': `"${version + 1}"` })).headers.get('etag')).toBe(`"${version + 1}"`);
    expect((await put({ on: false, merchantId: 'gamma', reason: 'second' })).headers.get('etag')).toBe(`"${version + 2}"`);
    const { items } = (await api.ask('GET', `${KILL}/history`)).body as {
      items: { action: string; version: number | null; reason: string }[];
    };
    expect(items.slice(0, 2)).toMatchObject([
      { action: 'switch.off', version: null, reason: 'second' },
      { action: 'switch.on', version: version + 1, reason: 'first' },
    ]);
    expect((await api.ask('GET', '/v1/switches/shadow/history')).body).toMatchObject({ items: [] });
    expect((await api.ask('GET', '/v1/switches/shadow')).headers.get('etag')).toBe('"1"');
    expect((await api.ask('GET', '/v1/switches/none/history')).status).toBe(404);
  });

  it('is switched off whole by an empty list, and a boolean goes on meaning one scope', async () => {
    expect((await put({ on: [] })).body).toMatchObject({ name: 'kill', on: [] });
    await put({ on: true, layer: 'network' });
    expect((await put({ on: false, layer: 'network' })).body).toMatchObject({ name: 'kill', on: [] });
  });

  it.each<[string, object, string, string]>([
    ['one scope twice', { on: [{ layer: 'network' }, { layer: 'network', merchantId: null }] }, '/on/1', 'switch.on.repeated'],
    ['a layer beside the list', { on: [], layer: 'network' }, '/layer', 'switch.layer.not_applicable'],
    ['an end that is past', { on: [{ until: '2020-01-01T00:00:00Z' }] }, '/on/0/until', 'switch.until.out_of_range'],
    ['a layer that is none', { on: [{ layer: 'planet' }] }, '/on/0/layer', 'switch.on.layer.malformed'],
    ['neither list nor boolean', { on: 'yes' }, '/on', 'switch.on.wrong_type'],
    ['too many scopes', { on: Array.from({ length: 101 }, (_, i) => ({ merchantId: `m${i}` })) }, '/on', 'switch.on.wrong_length'],
  ])('cannot be sent back with %s', async (_what, body, pointer, code) => {
    const before = await audited();
    expect(await put(body)).toMatchObject({ status: 400, body: { errors: [{ pointer, code }] } });
    expect(await audited()).toEqual(before);
  });
});
