import { asJson, ABOUT_CONNECTION, merchant, plan, reason, rulesPath, strict, wholeArgument } from './api/options.js';
import { reasonHeader, RulesApi } from './api/rules-api.js';
import { afterHelp, newCommand } from './shared/command.js';
import { print } from './shared/output.js';

export function command() {
  return newCommand('revert', 'Makes a former version of a rule its newest version; a deleted rule comes back.')
    .argument('<rule>', 'the id of the rule', wholeArgument)
    .argument('<version>', 'the version whose numbers hold again; history shows which there were', wholeArgument)
    .addOption(merchant())
    .addOption(plan())
    .addOption(strict())
    .addOption(reason())
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        [
          'Without --merchant and --plan the rule is a default rule. The change is refused if somebody else changes the rule meanwhile.',
          ABOUT_CONNECTION,
        ],
        ['npx tollgate revert 17 2 --merchant acme --reason "back to normal"', 'npx tollgate revert 3 1'],
      ),
    )
    .action(async (ruleId, version, { merchant: merchantId, plan: planName, strict: isStrict, reason: why, json }) => {
      const api = RulesApi.of(process.env);
      const path = `${rulesPath(merchantId, planName)}/${ruleId}`;
      const standing = await api.send(path);
      await standing.arrayBuffer();
      // A rule that is not there, or cannot be read, has no ETag: whatever is there is replaced.
      const headers = { 'if-match': standing.headers.get('etag') ?? '*', ...reasonHeader(why) };
      const request = {
        method: 'POST',
        query: { strict: isStrict ? 'true' : undefined },
        body: { version: Number(version) },
        headers,
      } as const;
      const answer = await api.ask<Reverted | Waiting>(`${path}/revert`, request);
      print(json ? JSON.stringify(answer, null, 2) : inWords(ruleId, version, answer));
    });
}

interface Reverted {
  readonly version: number;
  readonly warnings?: readonly { readonly code: string; readonly pointer: string; readonly detail: string }[];
}

/** The rule is protected: an approval is answered in place of the rule. */
interface Waiting {
  readonly id: string;
  readonly state: string;
}

function inWords(ruleId: string, version: string, answer: Reverted | Waiting): string {
  if ('state' in answer) {
    return `Rule ${ruleId} is protected: nothing is changed yet, and approval ${answer.id} waits for a second administrator.`;
  }
  const warned = (answer.warnings ?? []).map(({ code, pointer, detail }) => `! ${pointer} ${detail} (${code})`);
  return [...warned, `Rule ${ruleId} is what it was at version ${version}; that is version ${answer.version} now.`].join('\n');
}
