/** What makes servers read one path differently, in the order in which it is reported. */
export const PATH_FAULTS = {
  'control-characters': 'an encoded control character',
  'invalid-escapes': 'a % without two hexadecimal digits behind it',
  'invalid-utf-8': 'escapes that are not UTF-8',
  'dot-segments': 'a segment "." or "..", or one that becomes such a segment when it is decoded or loses its parameters',
  'empty-segments': 'an empty segment',
  backslashes: 'a backslash',
  'encoded-slashes': 'an encoded slash (%2F)',
  parameters: 'a semicolon, which begins a path parameter',
  'encoded-delimiters': 'an encoded ? or # (%3F, %23)',
  'double-escapes': 'an escape of an escape (%25 before two hexadecimal digits)',
  'encoded-unreserved': 'an escape of a letter, a digit, or one of - . _ ~',
} as const;

export type PathFault = keyof typeof PATH_FAULTS;

/** A segment that is encoded more often than this is refused without being decoded further. */
const MOST_DECODINGS = 4;

const HEX_PAIR = /^[0-9a-f]{2}/i;
const UNRESERVED = /^[\w.~-]$/;

/** What is ambiguous in a path: without query, of printable ASCII, starting with a slash. A slash at the end is not. */
export function pathFaults(path: string): Set<PathFault> {
  const faults = new Set<PathFault>();
  const segments = path.slice(1).split('/');
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i]!;
    if (segment !== '') addSegmentFaults(segment, faults);
    else if (i < segments.length - 1) faults.add('empty-segments');
  }
  return faults;
}

function addSegmentFaults(segment: string, faults: Set<PathFault>): void {
  let wellFormed = true;
  for (let i = 0; i < segment.length; i++) {
    const character = segment[i]!;
    if (character === '\\') faults.add('backslashes');
    else if (character === ';') faults.add('parameters');
    else if (character === '%') {
      const digits = segment.slice(i + 1, i + 3);
      if (HEX_PAIR.test(digits)) {
        const fault = escapeFault(Number.parseInt(digits, 16), segment, i + 3);
        if (fault !== undefined) faults.add(fault);
        i += 2;
      } else {
        wellFormed = false;
        faults.add('invalid-escapes');
      }
    }
  }
  if (wellFormed && !isUtf8(segment)) faults.add('invalid-utf-8');
  if (becomesDots(segment)) faults.add('dot-segments');
  if (withoutParameters(segment) === '') faults.add('empty-segments');
}

/** @param next where the text behind the escape begins */
function escapeFault(byte: number, segment: string, next: number): PathFault | undefined {
  if (byte < 0x20 || byte === 0x7f) return 'control-characters';
  if (byte > 0x7f) return undefined;
  const character = String.fromCharCode(byte);
  switch (character) {
    case '/':
      return 'encoded-slashes';
    case '\\':
      return 'backslashes';
    case ';':
      return 'parameters';
    case '?':
    case '#':
      return 'encoded-delimiters';
    case '%':
      return HEX_PAIR.test(segment.slice(next, next + 2)) ? 'double-escapes' : undefined;
    default:
      return UNRESERVED.test(character) ? 'encoded-unreserved' : undefined;
  }
}

/** Overlong forms, surrogates and lone bytes are not UTF-8: some servers make a slash or a dot of them. */
function isUtf8(segment: string): boolean {
  if (!segment.includes('%')) return true;
  try {
    decodeURIComponent(segment);
    return true;
  } catch {
    return false;
  }
}

/** Whether a server that decodes, perhaps more than once, splits at any slash and strips parameters may find `.` or `..`. */
function becomesDots(segment: string): boolean {
  let text = segment;
  for (let i = 0; i <= MOST_DECODINGS; i++) {
    for (const piece of text.split(/[/\\]/)) {
      const name = withoutParameters(piece);
      if (name === '.' || name === '..') return true;
    }
    const decoded = text.replace(/%([0-7][0-9a-f])/gi, (_escape, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
    if (decoded === text) return false;
    text = decoded;
  }
  return true;
}

export function withoutParameters(segment: string): string {
  const semicolon = segment.indexOf(';');
  return semicolon === -1 ? segment : segment.slice(0, semicolon);
}
