import { newCommand } from '../shared/command.js';
import { envoyCommand } from './envoy/command.js';

export function command() {
  return newCommand('import', 'Makes rules of what another rate limiter was configured with.')
    .addHelpText('after', '\nExamples:\n  $ npx tollgate import envoy config.yaml --dry-run')
    .addCommand(envoyCommand());
}
