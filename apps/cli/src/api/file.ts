import { readFileSync } from 'node:fs';
import { CORE_SCHEMA, FAILSAFE_SCHEMA, load, type Schema } from 'js-yaml';
import { LineCounter, parseDocument } from 'yaml';
import { notStarted } from '../shared/command-error.js';

/** A file of merchants and rules, parsed here so that the API gets JSON, which is much cheaper to read than YAML. */
export interface RulesFile {
  readonly content: unknown;
  /** The line of what a JSON pointer points to. */
  readonly placeOf: (pointer: string) => string;
}

/** Reads YAML or JSON, which is YAML as well. @param path - for the standard input. @throws CommandError */
export function readRulesFile(path: string): RulesFile {
  const { name, text } = readText(path);
  const content = jsonIn(text);
  return content === undefined ? yamlIn(name, text, CORE_SCHEMA) : { content, placeOf: (pointer) => `${name}: ${pointer}` };
}

/** The same, with every scalar as the text that stands there: whoever reads `1.0` as a text elsewhere does not mean `1`. @throws CommandError */
export function readYamlTexts(path: string): RulesFile {
  const { name, text } = readText(path);
  return yamlIn(name, text, FAILSAFE_SCHEMA);
}

function readText(path: string): { readonly name: string; readonly text: string } {
  const name = path === '-' ? 'the standard input' : path;
  try {
    return { name, text: new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path === '-' ? 0 : path)) };
  } catch (error) {
    throw notStarted(`${name} cannot be read: ${(error as Error).message}.`);
  }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Parses without keeping places: a tree that has them takes ten times the time and 100 bytes for each of the file. */
function yamlIn(name: string, text: string, schema: Schema): RulesFile {
  let places: ((pointer: string) => string) | undefined;
  try {
    const content = load(text, { schema });
    return { content, placeOf: (pointer) => (places ??= placesIn(name, text))(pointer) };
  } catch (error) {
    throw notStarted(`${name} is not valid YAML: ${(error as Error).message}`);
  }
}

/** Where things stand in a file that is valid. */
function placesIn(name: string, text: string): (pointer: string) => string {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, logLevel: 'silent' });
  return (pointer) => {
    const path = pointer
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
      .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    // A field that is missing has no line: the object that lacks it has one.
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true) as { range?: readonly [number, ...unknown[]] | null } | undefined;
      if (node?.range) return `${name}:${lines.linePos(node.range[0]).line}: ${pointer}`;
    }
    return `${name}: ${pointer}`;
  };
}
