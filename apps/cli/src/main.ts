#!/usr/bin/env node
import { run } from './program.js';

process.setSourceMapsEnabled(true);
// Whoever reads has read enough, as in `tollgate export | head`: that is no fault of the command, and needs no stack.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(1);
  });
await run(process.argv.slice(2));
