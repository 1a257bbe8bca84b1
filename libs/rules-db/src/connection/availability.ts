/** Codes of Node's sockets and of PostgreSQL (a SQLSTATE or its class) after which a retry may succeed. */
const UNAVAILABLE_CODE =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08...|57P0[1-5]|57014|53...|25P03|55P03|40001|40P01)$/;

/** Messages of errors without a code: of pg and its pool about a lost connection, and of TypeORM before it is connected. */
const UNAVAILABLE_TEXT =
  /PostgreSQL did not answer|Connection terminated|timeout exceeded when trying to connect|connection error and is not queryable|Client was closed|Cannot use a pool after calling end|Driver not Connected|connection timeout|ConnectionIsNotSet/i;

/** True if a statement failed because PostgreSQL is unreachable, starting, overloaded or too slow, so that a retry may succeed. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return reasons(error).some(({ code, text }) => (code !== undefined && UNAVAILABLE_CODE.test(code)) || UNAVAILABLE_TEXT.test(text));
}

/** The name of the unique constraint that a write violated; undefined if the write failed for another reason. */
export function violatedConstraint(error: unknown): string | undefined {
  const { driverError } = error as { driverError?: { code?: unknown; constraint?: unknown } };
  return driverError?.code === '23505' && typeof driverError.constraint === 'string' ? driverError.constraint : undefined;
}

/** The name of the foreign key that a write violated; undefined if the write failed for another reason. */
export function violatedForeignKey(error: unknown): string | undefined {
  const { driverError } = error as { driverError?: { code?: unknown; constraint?: unknown } };
  return driverError?.code === '23503' && typeof driverError.constraint === 'string' ? driverError.constraint : undefined;
}

/** In words why a statement or an attempt to connect failed, as the driver or the network says. */
export function reasonOf(error: unknown): string {
  return reasons(error).at(-1)?.text ?? String(error);
}

/** Unwraps an error: TypeORM wraps the driver's error, and Node wraps one error for each address of a name. */
function reasons(error: unknown): { code?: string; text: string }[] {
  if (typeof error !== 'object' || error === null) return [];
  const { name, message, code, driverError, errors } = error as Record<string, unknown>;
  return [
    { text: `${String(name)}: ${String(message)}`, ...(typeof code === 'string' && { code }) },
    ...reasons(driverError),
    ...(Array.isArray(errors) ? errors.flatMap(reasons) : []),
  ];
}
