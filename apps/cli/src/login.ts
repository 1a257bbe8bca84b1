import { createInterface } from 'node:readline';
import { apiUrl, keepLogin, loginFile } from './api/connection.js';
import { problemIn, RulesApi } from './api/rules-api.js';
import { failed, notStarted } from './shared/command-error.js';
import { afterHelp, newCommand } from './shared/command.js';
import { note, print } from './shared/output.js';

const ABOUT = `The token is asked for, or read from the standard input, or from TOLLGATE_TOKEN. It is no option, because other users of a machine can see
those. It is kept in tollgate/login.json in your configuration folder (XDG_CONFIG_HOME, or ~/.config), which only you can read.`;

export function command() {
  return newCommand('login', 'Keeps the address of a Rules API and a token for it, for the other commands.')
    .argument('<url>', 'the address of the Rules API')
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT],
        ['npx tollgate login https://rules.example.com', 'npx tollgate login http://127.0.0.1:3000 < .tollgate/admin-token'],
      ),
    )
    .action((url) => login(url, process.env));
}

async function login(address: string, env: NodeJS.ProcessEnv): Promise<void> {
  const url = apiUrl(address);
  if (new URL(url).protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname))
    note(`${url} is not encrypted: whoever is on the way can read the token.`);
  const token = (env['TOLLGATE_TOKEN'] || (await typedToken())).trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw notStarted('A token is expected: one line of ASCII characters without spaces.');
  const answer = await new RulesApi({ url, token }).send('/v1/merchants', { query: { limit: '1' } });
  if (!answer.ok) throw failed(`${url} does not accept the token: ${(await problemIn(answer)).detail}.`);
  const file = loginFile(env);
  keepLogin(file, { url, token });
  print(`Logged in to ${url}; the token is kept in ${file}.`);
}

/** The first line of the standard input; a terminal does not show it. */
async function typedToken(): Promise<string> {
  const { stdin } = process;
  if (stdin.isTTY) process.stderr.write('Token: ');
  const lines = createInterface({ input: stdin, terminal: stdin.isTTY === true, historySize: 0 });
  try {
    for await (const line of lines) return line;
    return '';
  } finally {
    lines.close();
    if (stdin.isTTY) note('');
  }
}
