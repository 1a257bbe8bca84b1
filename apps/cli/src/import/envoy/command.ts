import { stringify } from 'yaml';
import { applyContent } from '../../api/apply-file.js';
import { readYamlTexts } from '../../api/file.js';
import { ABOUT_CONNECTION, asJson, mostDeleted, reason } from '../../api/options.js';
import { failed } from '../../shared/command-error.js';
import { afterHelp, newCommand } from '../../shared/command.js';
import { Faults } from '../../shared/options.js';
import { print } from '../../shared/output.js';
import { DOMAIN_LABEL, rulesOfRatelimit, type Translation } from './rules-of-ratelimit.js';

const ABOUT = `The file is a configuration of envoyproxy/ratelimit: a domain with its descriptors. Each limit becomes a rule of the merchant that has the name of the
domain, or of the merchant that a descriptor names by the key merchant; docs/envoy.md has the table. All of them have the label
${DOMAIN_LABEL}=DOMAIN, and only rules with it are changed or deleted. What cannot be translated is an error that names its place, and nothing is written.`;

export function envoyCommand() {
  const faults = new Faults();
  return newCommand('envoy', 'Applies a configuration of envoyproxy/ratelimit as rules.')
    .argument('<file>', 'the file, or - for the standard input')
    .option('--dry-run', 'say what would change, and change nothing', false)
    .option('--print', 'print the rules as a file for apply, and ask nobody', false)
    .addOption(mostDeleted('the rules of the domain', faults))
    .addOption(reason())
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT, ABOUT_CONNECTION],
        ['npx tollgate import envoy config.yaml --dry-run', 'npx tollgate import envoy config.yaml --print > rules.yaml'],
      ),
    )
    .action(async (path, { json = false, print: onlyPrint, ...options }) => {
      faults.demandNone();
      const { domain, document, sourceOf, placeOf } = translated(path);
      if (onlyPrint) return print(stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd());
      const select = `${DOMAIN_LABEL}=${domain}`;
      const all = { ...options, json, select, deleteMerchants: false, deletePlans: false };
      await applyContent({ content: document, placeOf: (pointer) => placeOf(sourceOf(pointer)) }, all);
    });
}

function translated(path: string): Translation & { readonly placeOf: (pointer: string) => string } {
  const { content, placeOf } = readYamlTexts(path);
  const translation = rulesOfRatelimit(content);
  if (!('faults' in translation)) return { ...translation, placeOf };
  const lines = translation.faults.map(({ pointer, detail }) => `  ${placeOf(pointer)} ${detail}`);
  throw failed(['The file cannot be translated:', ...lines].join('\n'));
}
