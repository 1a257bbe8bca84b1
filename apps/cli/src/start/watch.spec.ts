import { countsByOutcome } from './watch.js';

describe("the gateway's counts", () => {
  it('are summed by outcome, whatever the other labels and their order', () => {
    const metrics = [
      '# HELP tollgate_requests_total Requests by how they ended.',
      'tollgate_requests_total{outcome="forwarded",status_class="2xx",app="gateway"} 10',
      'tollgate_requests_total{app="gateway",status_class="4xx",outcome="forwarded"} 2',
      'tollgate_requests_total{app="gateway",outcome="refused",status_class="4xx"} 1e3',
      'tollgate_requests_total_other{outcome="refused"} 7',
    ].join('\n');
    expect(countsByOutcome(metrics)).toEqual({ forwarded: 12, refused: 1000 });
    expect(countsByOutcome('')).toEqual({});
  });
});
