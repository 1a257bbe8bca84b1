import { ValidationPipe } from '../http/validation.pipe.js';
import { CreateMerchantDto, UpdateMerchantDto } from './merchant.dto.js';

const pipe = new ValidationPipe();
const create = (body: object) => pipe.transform(body, { type: 'body', metatype: CreateMerchantDto });
const update = (body: object) => pipe.transform(body, { type: 'body', metatype: UpdateMerchantDto });

describe('CreateMerchantDto', () => {
  it.each(['acme', 'a:b{c}', '🙂', 'a b', '...', "o'hara"])('takes the id %s', (id) =>
    expect(create({ id, name: 'x' })).toMatchObject({ id }),
  );

  it.each(['', ' a', 'a ', 'a\nb', 'a\0', '\ud800', '.', '..', 5, null, undefined, ['a'], 'x'.repeat(129)])('refuses the id %p', (id) => {
    expect(() => create({ id, name: 'x' })).toThrow(/field/);
  });

  it.each(['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'Asia/Kolkata'])('takes the time zone %s', (timeZone) => {
    expect(create({ id: 'a', name: 'x', timeZone })).toMatchObject({ timeZone });
  });

  it.each(['', 'Mars', '+01:00', 'GMT+25', 'Europe/Berlin ', '../etc/passwd', 1, null])('refuses the time zone %p', (timeZone) => {
    expect(() => create({ id: 'a', name: 'x', timeZone })).toThrow(/field/);
  });
});

describe('UpdateMerchantDto', () => {
  it('takes a merchant without its id, which is in the path, and as GET answers it', () => {
    expect(update({ name: 'y' })).toMatchObject({ name: 'y', timeZone: 'UTC', labels: {} });
    expect(update({ name: 'y', id: 'b', version: 3, createdAt: '2026-11-01T00:00:00.000Z' })).toMatchObject({ name: 'y' });
    expect(update({ name: 'y', timeZone: 'Europe/Berlin', labels: { region: 'eu' } })).toMatchObject({ labels: { region: 'eu' } });
    expect(() => update({ name: 'y', identity: 'b' })).toThrow(/field/);
    expect(() => update({ timeZone: 'UTC' })).toThrow(/field/);
    expect(() => update({ name: null })).toThrow(/field/);
    expect(() => update({ name: 'y', timeZone: null })).toThrow(/field/);
  });
});
