import { ConfigError, loadConfig } from './config.js';

const GATEWAY = { DATABASE_URL: 'postgres://u:p@db/t', REDIS_URL: 'redis://r', UPSTREAM_URL: 'http://127.0.0.1:9090' };

const originsIn = (text: string) => loadConfig('gateway', { ...GATEWAY, REFUSAL_CORS_ORIGINS: text }).refusalCorsOrigins;

test.each([
  ['', []],
  ['*', '*'],
  ['https://shop.example, http://localhost:5173,https://shop.example', ['https://shop.example', 'http://localhost:5173']],
  ['capacitor://localhost', ['capacitor://localhost']],
])('REFUSAL_CORS_ORIGINS=%s names origins as browsers send them', (text, origins) => {
  expect(originsIn(text)).toEqual(origins);
});

test.each([
  'shop.example',
  'https://shop.example/',
  'https://Shop.example',
  'https://shop.example:443',
  'https://*.shop.example',
  'https://shop.example,*',
  'null',
  'https://a.example,,https://b.example',
  'https://user@shop.example',
  Array.from({ length: 65 }, (_, i) => `https://${i}.example`).join(','),
])('REFUSAL_CORS_ORIGINS=%s is refused when the gateway starts: no browser sends it', (text) => {
  expect(() => originsIn(text)).toThrow(ConfigError);
});
