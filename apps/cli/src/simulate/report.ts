/** What a simulation shows. */
export interface Report {
  readonly text: string;
  /** SVG, by name. */
  readonly pictures: Readonly<Record<string, string>>;
  readonly json: object;
}
