/**
 * Whether the methods of a rule name this one. A rule that names none means all but OPTIONS: that only asks what else may be asked, and
 * browsers send it by themselves, before a request that is charged.
 */
export function namesMethod(methods: readonly string[], method: string): boolean {
  return methods.length === 0 ? method !== 'OPTIONS' : methods.includes(method);
}
