import { Module } from '@nestjs/common';
import { ApprovalsController } from './approvals.controller.js';
import { ApprovalsService } from './approvals.service.js';
import { ApprovedChanges } from './approved-changes.js';

@Module({ controllers: [ApprovalsController], providers: [ApprovalsService, ApprovedChanges] })
export class ApprovalsModule {}
