import { type CallHandler, type ExecutionContext, Inject, Injectable, type NestInterceptor } from '@nestjs/common';
import { type Observable, throwError, timeout } from 'rxjs';
import { RulesDatabase } from '../database.js';
import { databaseUnavailable } from './rules-api-exception.filter.js';

/** No caller waits longer than this, in milliseconds, however many statements stand behind a request. */
const DEADLINE_MS = 4_000;

/** The same for large files, whose transaction consists of very many short statements. */
const PATIENT_DEADLINE_MS = 300_000;

/** Answers 503 while the database is not ready, and when it keeps a request waiting. */
@Injectable()
export class DatabaseInterceptor implements NestInterceptor {
  protected readonly deadlineMs: number = DEADLINE_MS;

  constructor(@Inject(RulesDatabase) private readonly database: RulesDatabase) {}

  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (!this.database.isReady) throw databaseUnavailable();
    return next.handle().pipe(timeout({ first: this.deadlineMs, with: () => throwError(() => databaseUnavailable()) }));
  }
}

@Injectable()
export class PatientDatabaseInterceptor extends DatabaseInterceptor {
  protected override readonly deadlineMs = PATIENT_DEADLINE_MS;
}
