import { type Fields, line } from '#limiter';
import type { ProblemError } from '#platform';
import { tableDto } from './table-dto.js';
import { MAX_DEPTH, ValidationPipe } from './validation.pipe.js';

const WHEEL = {
  size: { kind: 'whole_number', min: 1, max: 9, default: 5, explanation: 'Its size.' },
} as const satisfies Fields;

const CAR = {
  name: { kind: 'text', format: line(5), required: true, explanation: 'Its name.' },
  colour: { kind: 'choice', values: ['red', 'blue'], default: 'red', explanation: 'Its colour.' },
  fast: { kind: 'truth', default: false, explanation: 'Whether it is fast.' },
  wheels: {
    kind: 'list',
    of: { kind: 'object', fields: WHEEL, explanation: 'A wheel.' },
    min: 0,
    max: 3,
    default: [],
    explanation: 'Its wheels.',
  },
  spare: { kind: 'object', fields: WHEEL, default: {}, explanation: 'A wheel in the boot.' },
} as const satisfies Fields;

class Car extends tableDto('car', CAR) {}

const pipe = new ValidationPipe();
const transform = (body: unknown) => pipe.transform(body, { type: 'body', metatype: Car });

function errorsOf(body: unknown): unknown {
  try {
    transform(body);
  } catch (error) {
    return (error as ProblemError).errors?.map(({ code: _code, ...rest }) => rest);
  }
  throw new Error('expected it to be refused');
}

describe('ValidationPipe', () => {
  it('takes no body for an empty one where that is said, and only there', () => {
    class Tyres extends tableDto('tyres', WHEEL) {
      static override readonly mayBeAbsent = true;
    }
    class Rims extends tableDto('rims', WHEEL) {}
    expect(pipe.transform(undefined, { type: 'body', metatype: Tyres })).toEqual({ size: 5 });
    expect(() => pipe.transform(null, { type: 'body', metatype: Tyres })).toThrow('the body must be a JSON object');
    expect(() => pipe.transform(undefined, { type: 'body', metatype: Rims })).toThrow('the body must be a JSON object');
  });

  it('fills in defaults and leaves values as they are', () => {
    expect(transform({ name: 'a' })).toEqual({ name: 'a', colour: 'red', fast: false, wheels: [], spare: { size: 5 } });
    expect(transform({ name: 'a', wheels: [{}, { size: 2 }] })).toMatchObject({ wheels: [{ size: 5 }, { size: 2 }] });
  });

  it.each<[unknown, unknown]>([
    [{}, [{ pointer: '/name', detail: expect.stringContaining('got nothing') }]],
    [{ name: 'toolong' }, [{ pointer: '/name', detail: expect.stringContaining('got "toolong"') }]],
    [{ name: 'a', fast: 'true' }, [{ pointer: '/fast', detail: 'must be true or false, got "true"' }]],
    [
      { name: 'a', wheels: [{ size: 1 }, { size: '2' }] },
      [{ pointer: '/wheels/1/size', detail: 'must be a whole number from 1 to 9, got "2"' }],
    ],
    [{ name: 'a', wheels: [null] }, [{ pointer: '/wheels/0', detail: 'must be an object, got null' }]],
    [{ name: 'a', wheels: { 0: { size: 99 } } }, [{ pointer: '/wheels', detail: 'must be a list, got {"0":{"size":99}}' }]],
    [{ name: 'a', wheels: [[{}]] }, [{ pointer: '/wheels/0', detail: expect.stringContaining('must be an object') }]],
    [{ name: 'a', wheels: [1, 2, 3, 4] }, [{ pointer: '/wheels', detail: 'must have 0 to 3 items, got 4' }]],
    [
      { name: 'a', spare: { size: 0, rim: 1 } },
      [
        { pointer: '/spare/rim', detail: 'is not a field that is known here' },
        { pointer: '/spare/size', detail: 'must be a whole number from 1 to 9, got 0' },
      ],
    ],
    [
      { name: 'a', constructor: 1, toString: 2 },
      [
        { pointer: '/constructor', detail: 'is not a field that is known here' },
        { pointer: '/toString', detail: 'is not a field that is known here' },
      ],
    ],
  ])('refuses %j', (body, errors) => expect(errorsOf(body)).toEqual(errors));

  it('says how many fields are wrong', () => {
    expect(() => transform({ fast: 1 })).toThrow('2 fields of the body are wrong');
    expect(() => transform({ name: 'a', fast: 1 })).toThrow('a field of the body is wrong');
  });

  it.each([null, undefined, 5, 'text', true, []])('refuses the body %p', (body) => {
    expect(() => transform(body)).toThrow(/^the body must be a JSON object/);
  });

  it('survives a body that is nested beyond measure', () => {
    const deep = JSON.parse(`${'['.repeat(30_000)}${']'.repeat(30_000)}`) as unknown;
    expect(errorsOf({ name: 'a', wheels: deep })).toEqual([
      { pointer: `/wheels${'/0'.repeat(MAX_DEPTH - 1)}`, detail: 'is nested too deeply' },
    ]);
    expect(errorsOf({ name: 'a', other: deep })).toHaveLength(1);
  });

  it('bounds what it answers', () => {
    const unknown = (count: number) =>
      errorsOf(Object.fromEntries(Array.from({ length: count }, (_, i) => [`${i}`.repeat(300), 1]))) as { pointer: string }[];
    // More than a few of them are one fault.
    expect(unknown(5_000)).toEqual([
      { pointer: '', detail: 'has 5000 fields that are not known here' },
      expect.objectContaining({ pointer: '/name' }),
    ]);
    const errors = unknown(100);
    expect(errors).toHaveLength(100);
    expect(Math.max(...errors.map(({ pointer }) => pointer.length))).toBeLessThan(600);
  });

  it('names parameters of a query', () => {
    try {
      pipe.transform({ name: '' }, { type: 'query', metatype: Car });
    } catch (error) {
      expect((error as ProblemError).errors).toEqual([
        { parameter: 'name', code: 'car.name.malformed', detail: expect.stringContaining('got ""') as string },
      ]);
      return;
    }
    throw new Error('expected it to be refused');
  });

  it('leaves other parameters alone', () => {
    expect(pipe.transform('x', { type: 'param', metatype: String })).toBe('x');
    expect(pipe.transform({ any: 1 }, { type: 'custom', metatype: Object })).toEqual({ any: 1 });
  });
});
