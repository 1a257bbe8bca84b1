import type { WebhookRepository } from '#rules-db';
import { WebhookSecrets } from './webhook-secrets.js';
import type { WebhookDto } from './webhook.dto.js';
import { WebhooksService } from './webhooks.service.js';

describe('the URL of a webhook', () => {
  const stored = { id: '1', events: [], labels: {}, formerUntil: null, createdAt: new Date(0), updatedAt: new Date(0) };
  const repository = { create: (spec: object) => Promise.resolve({ ...stored, ...spec }) } as unknown as WebhookRepository;
  const create = (url: string, allowPrivate: boolean) =>
    new WebhooksService(repository, new WebhookSecrets('a-secret-of-the-tests'), allowPrivate).create(
      { url, events: ['rule.changed'], enabled: true } as WebhookDto,
      { name: 'admin' },
    );

  it.each([
    'http://example.com/',
    'https://127.0.0.1/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/',
  ])('%s is refused unless private addresses are allowed', async (url) => {
    await expect(create(url, false)).rejects.toMatchObject({ errors: [{ pointer: '/url', code: 'webhook.url.malformed' }] });
    expect((await create(url, true)).url).toBe(url);
  });

  it.each(['https://example.com/a?b=c', 'https://1.1.1.1/', 'https://[2606:4700::1111]:8443/', 'https://localhost/'])(
    '%s is taken: where a name leads shows when it is connected to',
    async (url) => {
      expect((await create(url, false)).url).toBe(url);
    },
  );
});
