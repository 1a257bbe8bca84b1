import type { IdentityKind } from '#platform';
import { createIdentifier, createTrust, isPreflight } from '#edge';
import type { Admission } from '../proxy/index.js';
import { createAdmit } from './admission.js';
import { createDescribe } from './describe.js';
import { createIdentityRefusal } from './identity-refusals.js';
import { PreflightCounts } from './preflight.js';

const ASKS = { origin: ['https://shop.example'], 'access-control-request-method': ['POST'] };

function requestOf({
  method = 'OPTIONS',
  headers = ASKS as Record<string, string[]>,
  bodyLength = 0,
  merchants = [] as string[],
  trusted = true,
} = {}) {
  const [merchantId = ''] = merchants;
  const head = {
    merchantIds: merchants.length,
    merchantId,
    userIds: 0,
    userId: '',
    forwardedFor: '',
    bodyLength,
    authorizations: 0,
    authorization: '',
  };
  const receivedValues = (name: string): readonly string[] => headers[name] ?? [];
  return {
    ...{ method, head, receivedValues, trusted, target: '/pay', peer: '10.0.0.1', headerValues: receivedValues },
    ...{ hostName: 'x', requestId: 'r-1', caller: null, certificate: null, body: undefined, readBody: () => {}, belongsTo: () => true },
  };
}

it.each([
  ['OPTIONS with Origin and the method that is going to be asked', {}, true],
  ['another method', { method: 'POST' }, false],
  ['without Origin', { headers: { ...ASKS, origin: [] } }, false],
  ['without that method', { headers: { origin: ASKS.origin } }, false],
  ['with two of them', { headers: { ...ASKS, 'access-control-request-method': ['POST', 'PUT'] } }, false],
  ['with a body', { bodyLength: 1 }, false],
  ['with a body in chunks', { bodyLength: -1 }, false],
])('a preflight request is known: %s', (_case, wish, is) => {
  expect(isPreflight(requestOf(wish))).toBe(is);
});

describe('a preflight request', () => {
  function ask(wish: Parameters<typeof requestOf>[0]) {
    const trusts = createTrust(['10.0.0.0/8']);
    const asked: string[] = [];
    const undescribed: string[] = [];
    const preflights = new PreflightCounts();
    const admit = createAdmit({
      describe: createDescribe({ identify: createIdentifier({ trusts }), pathCaseSensitive: true, countryHeader: '' }),
      enforcer: {
        check: ({ merchantId }) => void asked.push(merchantId),
        countUndescribed: (reason) => void undescribed.push(reason),
      },
      identityRefusal: createIdentityRefusal({ kinds: ['header'] satisfies IdentityKind[] }),
      preflights,
    });
    const answers: Admission[] = [];
    admit(requestOf(wish), (admission) => answers.push(admission));
    return {
      asked,
      undescribed,
      counts: [preflights.named, preflights.anonymous],
      status: answers.map((each) => (each.forward ? 200 : each.status)),
    };
  }

  it.each([
    ['of nobody is forwarded without a decision', {}, [[], [], [0, 1], [200]]],
    ['of a merchant is decided about', { merchants: ['acme'] }, [['acme'], [], [1, 0], []]],
    [
      'that names a merchant without being believed is refused',
      { merchants: ['acme'], trusted: false },
      [[], ['untrusted_peer'], [1, 0], [401]],
    ],
    ['that names two is refused', { merchants: ['a', 'b'] }, [[], ['duplicate_identity'], [1, 0], [400]]],
    ['alone is: any other OPTIONS of nobody is refused', { headers: {} }, [[], ['no_identity'], [0, 0], [401]]],
    ['is no way for other methods', { method: 'POST' }, [[], ['no_identity'], [0, 0], [401]]],
  ])('%s', (_case, wish, [asked, undescribed, counts, status]) => {
    expect(ask(wish)).toEqual({ asked, undescribed, counts, status });
  });
});
