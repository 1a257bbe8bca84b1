import { createDataSource, connectWhenUp, MerchantRepository } from '#rules-db';
import { Forwarder } from '../../support/forwarder.mjs';
import { PATIENCE } from '../../support/patience.mjs';
import { until } from '../../support/until.js';
import { rule } from '../../support/factories/rules.js';
import { House } from './house.js';

test('while the way to PostgreSQL is black, merchants that are known are served, others get 503 in time, and are served soon after its return', async () => {
  const house = await House.open();
  const url = new URL(house.database.url);
  const forwarder = await Forwarder.to(Number(url.port));
  url.host = `127.0.0.1:${forwarder.port}`;
  const dataSource = createDataSource(house.database.url);
  try {
    await connectWhenUp(dataSource);
    const merchants = new MerchantRepository(dataSource);
    for (const id of ['first', 'second', 'third']) await merchants.create({ id, name: id, timeZone: 'Etc/UTC' }, { name: 'admin' });
    await house.write('known', [rule()]);
    const gateway = await house.gateway({ DATABASE_URL: url.href, STORE_TIMEOUT_MS: '5000' });
    await until(async () => expect((await house.send(gateway, 'first')).status).toBe(200));
    expect((await house.send(gateway, 'known')).status).toBe(200);

    forwarder.blackHole();
    const cold = await house.send(gateway, 'second');
    expect(cold.status).toBe(503);
    expect(cold.ms).toBeLessThan(2_000 + 1_000 * PATIENCE);
    expect((await house.send(gateway, 'known')).status).toBe(200);

    forwarder.open();
    const backMs = performance.now();
    await until(async () => expect((await house.send(gateway, 'third')).status).toBe(200), 15_000);
    expect(performance.now() - backMs).toBeLessThan(5_000 + 1_000 * PATIENCE);
  } finally {
    await dataSource.destroy();
    forwarder.close();
    await house.close();
  }
});
