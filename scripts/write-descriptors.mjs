/** Writes proto/descriptors.binpb, from which server reflection answers, after a change of the protobuf files: npm run descriptors. */
import { demandNode, installMissing } from './install.mjs';
import { writeDescriptors } from './check/protobuf.mjs';

demandNode();
await installMissing(console.log);
const outcome = await writeDescriptors();
if ('skipped' in outcome) console.error(`Not written: ${outcome.skipped}`);
if (!('ok' in outcome && outcome.ok)) process.exitCode = 1;
