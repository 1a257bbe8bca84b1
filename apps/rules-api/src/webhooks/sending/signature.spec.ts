import { signatureHeaders } from './signature.js';

describe('signatureHeaders', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}', atMs: 1_614_265_330_999 };
  const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');

  it('signs as the example of the Standard Webhooks specification', () => {
    expect(signatureHeaders(message, [secret])).toEqual({
      'webhook-id': message.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('signs with each secret, and with none is not signed', () => {
    const other = Buffer.alloc(32, 1);
    const { 'webhook-signature': both } = signatureHeaders(message, [other, secret]);
    expect(both!.split(' ')).toEqual([expect.stringMatching(/^v1,/), 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=']);
    expect(signatureHeaders(message, [])['webhook-signature']).toBe('');
  });
});
