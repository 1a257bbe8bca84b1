import type { CommandUnknownOpts } from '@commander-js/extra-typings';

/** What may follow a command: its commands and options. */
export interface Node {
  /** The words that lead to the command. */
  readonly path: readonly string[];
  readonly words: readonly { readonly word: string; readonly meaning: string }[];
}

/** A command and all below it, from commander's own tables. */
export function treeOf(command: CommandUnknownOpts, above: readonly string[]): Node[] {
  const path = [...above, command.name()];
  const below = command.commands.filter((each) => each.name() !== 'help');
  const options = command.createHelp().visibleOptions(command as never);
  const words = [
    ...below.map((each) => ({ word: each.name(), meaning: each.summary() })),
    ...options.flatMap(({ long, description }) => (long ? [{ word: long, meaning: description }] : [])),
  ];
  return [{ path, words }, ...below.flatMap((each) => treeOf(each, path))];
}

/** The scripts by their shells. Each finds the command among the words so far, and offers what may follow it. */
export const SCRIPTS: Readonly<Record<string, (nodes: readonly Node[]) => string>> = { bash, zsh, fish };

const key = ({ path }: Node): string => path.join('/');

/** The paths that the words of a command line are compared with. */
const paths = (nodes: readonly Node[]): string =>
  nodes
    .filter(({ path }) => path.length > 0)
    .map(key)
    .join('|');

/** Words are letters, digits and dashes; what is said about them may be anything. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function bash(nodes: readonly Node[]): string {
  return `# Completes tollgate in bash.
_tollgate() {
  local at="" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "\${at:+$at/}$word" in
      ${paths(nodes)}) at="\${at:+$at/}$word" ;;
    esac
  done
  local words=""
  case "$at" in
${nodes.map((node) => `    ${quoted(key(node))}) words=${quoted(node.words.map(({ word }) => word).join(' '))} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o bashdefault -o default -F _tollgate tollgate`;
}

function zsh(nodes: readonly Node[]): string {
  const item = ({ word, meaning }: Node['words'][number]): string => quoted(`${word}:${meaning}`);
  return `#compdef tollgate
# Completes tollgate in zsh.
_tollgate() {
  local at="" word
  local -a offered
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${at:+$at/}$word" in
      ${paths(nodes)}) at="\${at:+$at/}$word" ;;
    esac
  done
  case "$at" in
${nodes.map((node) => `    ${quoted(key(node))}) offered=(${node.words.map(item).join(' ')}) ;;`).join('\n')}
  esac
  _describe 'tollgate' offered || _files
}
if [ "$funcstack[1]" = "_tollgate" ]; then _tollgate "$@"; else compdef _tollgate tollgate; fi`;
}

function fish(nodes: readonly Node[]): string {
  const offers = nodes.flatMap((node) =>
    node.words.map(({ word, meaning }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c tollgate -n "test (__tollgate_at) = '${key(node)}'" ${what} -d ${fishQuoted(meaning)}`;
    }),
  );
  return `# Completes tollgate in fish.
function __tollgate_at
  set -l at ''
  set -l words (commandline -opc)
  for word in $words[2..-1]
    set -l next (string join / $at $word | string trim -l -c /)
    switch $next
      case ${nodes
        .filter(({ path }) => path.length > 0)
        .map(key)
        .join(' ')}
        set at $next
    end
  end
  echo "$at"
end
${offers.join('\n')}`;
}

/** In fish a backslash escapes inside single quotes, too. */
const fishQuoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;
