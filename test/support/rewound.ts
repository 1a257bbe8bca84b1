/**
 * A text with countdowns put back to where they began: a number of seconds that one of `named` may have come down to since then is
 * written as that one. A busy machine may let seconds pass between a request and the one that is judged.
 */
export function rewound(text: string, sinceMs: number, ...named: number[]): string {
  const passed = Math.ceil((performance.now() - sinceMs) / 1000);
  return text.replace(/\d+/g, (digits) =>
    String(named.find((seconds) => seconds >= Number(digits) && seconds - Number(digits) <= passed) ?? digits),
  );
}
