import { startApp } from '../../support/processes.js';
import { freshDatabase } from '../../support/services.js';

const TOKEN = 'management-token-of-the-tests';

test('the documentation runs only its own scripts, no page is cached or framed, and metrics require the management token', async () => {
  const database = await freshDatabase({ migrated: true });
  const app = await startApp('rules-api', { DATABASE_URL: database.url, MANAGEMENT_TOKEN: TOKEN });
  try {
    for (const path of ['/docs', '/openapi.json', '/healthz', '/readyz', '/nothing', '/v1/merchants', '/docs/swagger-ui-bundle.js']) {
      const answer = await fetch(app.url + path);
      // What is not read to its end would keep its connection, and the app from ending.
      await answer.arrayBuffer();
      const { headers } = answer;
      expect([path, headers.get('x-content-type-options'), headers.get('cache-control')]).toEqual([path, 'nosniff', 'no-store']);
      expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    }
    // A page with scripts of other servers, or in its own text, would not work under that policy.
    const page = await fetch(`${app.url}/docs`);
    const html = await page.text();
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    const scripts = [...html.matchAll(/<script([^>]*)>([^]*?)<\/script>/g)];
    expect(scripts.length).toBeGreaterThan(0);
    for (const [, attributes = '', text = ''] of scripts) {
      const source = /src="([^"]+)"/.exec(attributes)?.[1] ?? '';
      expect(text.trim()).toBe('');
      const script = await fetch(new URL(source, `${app.url}/docs`));
      await script.arrayBuffer();
      expect([script.status, script.url.startsWith(app.url), script.headers.get('content-type')]).toEqual([
        200,
        true,
        expect.stringContaining('javascript'),
      ]);
    }

    expect((await fetch(`${app.url}/metrics`)).status).toBe(401);
    expect((await fetch(`${app.url}/metrics`, { headers: { authorization: 'Bearer wrong-token-of-the-tests' } })).status).toBe(401);
    expect((await fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(200);
  } finally {
    await app.stop();
    await database.drop();
  }
});
