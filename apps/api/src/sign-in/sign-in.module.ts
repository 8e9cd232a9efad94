import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.ts';
import { GroupRoleResolvers } from './group-role.resolvers.ts';
import { GroupRolesController } from './group-roles.controller.ts';
import { GroupRolesService } from './group-roles.service.ts';
import { SignInController } from './sign-in.controller.ts';
import { SignInService } from './sign-in.service.ts';

/** People: how they come in, and what their groups are here. */
@Module({
  imports: [AuthModule],
  controllers: [SignInController, GroupRolesController],
  providers: [SignInService, GroupRolesService, GroupRoleResolvers],
  exports: [GroupRoleResolvers],
})
export class SignInModule {}
