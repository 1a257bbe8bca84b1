"""A client of the decision API as anybody writes it: stock grpcio, and code that grpc_tools generated from proto/. Says as JSON what it was answered."""

import json
import sys

import grpc
from envoy.extensions.common.ratelimit.v3 import ratelimit_pb2
from envoy.service.ratelimit.v3 import rls_pb2, rls_pb2_grpc
from tollgate.v1 import decision_pb2, decision_pb2_grpc

port, token = sys.argv[1:]
metadata = [("authorization", f"Bearer {token}")]
DEADLINE = 60


def check(merchant, **more):
    return decision_pb2.CheckRequest(merchant=merchant, method="POST", path="/transactions", **more)


with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
    decisions = decision_pb2_grpc.DecisionServiceStub(channel)
    limits = rls_pb2_grpc.RateLimitServiceStub(channel)
    said = {}

    first = decisions.Check(check("acme", cost=2, want_claim=True), metadata=metadata, timeout=DEADLINE)
    said["check"] = [first.allowed, first.reason, first.limit.remaining, [header.name for header in first.headers]]

    def outcome(name):
        return decision_pb2.ClaimOutcome.Name(name.outcome)

    refunded = [
        decisions.Refund(decision_pb2.RefundRequest(claim=first.claim), metadata=metadata, timeout=DEADLINE) for _ in range(2)
    ]
    said["refund"] = [outcome(each) for each in refunded]

    second = decisions.Check(check("acme", want_claim=True), metadata=metadata, timeout=DEADLINE)
    settled = decisions.Settle(decision_pb2.SettleRequest(claim=second.claim), metadata=metadata, timeout=DEADLINE)
    said["settle"] = outcome(settled)

    asked = (decision_pb2.CheckStreamRequest(id=i, request=check("acme")) for i in range(1, 5))
    answers = decisions.CheckStream(asked, metadata=metadata, timeout=DEADLINE)
    said["stream"] = sorted([answer.id, answer.response.allowed] for answer in answers)

    entry = ratelimit_pb2.RateLimitDescriptor.Entry(key="user", value="ann")
    request = rls_pb2.RateLimitRequest(domain="shop", descriptors=[ratelimit_pb2.RateLimitDescriptor(entries=[entry])])
    limited = limits.ShouldRateLimit(request, metadata=metadata, timeout=DEADLINE)
    said["limits"] = [rls_pb2.RateLimitResponse.Code.Name(limited.overall_code), limited.statuses[0].limit_remaining]

    try:
        decisions.Check(check("acme"), timeout=DEADLINE)
    except grpc.RpcError as error:
        said["stranger"] = error.code().name

print(json.dumps(said))
