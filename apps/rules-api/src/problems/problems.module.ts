import { Module } from '@nestjs/common';
import { PROBLEM_PAGES, readProblemPages } from './problem-pages.js';
import { ProblemsController } from './problems.controller.js';

@Module({ controllers: [ProblemsController], providers: [{ provide: PROBLEM_PAGES, useFactory: readProblemPages }] })
export class ProblemsModule {}
