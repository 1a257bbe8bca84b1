/** After the last test: stops what global-setup.mjs started. */
export default async function globalTeardown() {
  const { tollgateTestUndo: undo } = /** @type {{ tollgateTestUndo?: (() => Promise<void> | void)[] }} */ (globalThis);
  for (const step of (undo ?? []).reverse()) await step();
}
