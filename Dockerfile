# One image for all apps; the command selects which.
ARG NODE=24.18.0-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d

FROM node:${NODE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No package of ours needs its install script.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY .swcrc nest-cli.json tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY migrations migrations
COPY libs libs
COPY apps apps
RUN node scripts/build.mjs && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:${NODE}
# Inside a container loopback is nobody; what may reach it is decided by the ports that are published.
ENV NODE_ENV=production RULES_API_HOST=0.0.0.0 GATEWAY_HOST=0.0.0.0 DECISION_API_HOST=0.0.0.0 MANAGEMENT_HOST=0.0.0.0
# Load balancers need a moment to see that a gateway is about to stop. Only gateways and decision APIs read it.
ENV DRAIN_DELAY_MS=5000
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/scripts scripts
COPY --from=build /app/dist dist
# The pages that the Rules API serves.
COPY docs/problems docs/problems
# The messages that the decision API speaks by gRPC.
COPY proto proto
USER node
# Rules API, gateway, its management, the preloader's management, decision API, its management.
EXPOSE 3000 8080 8081 8082 8090 8091 8092
CMD ["node", "--enable-source-maps", "dist/gateway.js"]
