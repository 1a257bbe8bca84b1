-- Asks Tollgate's decision API about a request, by way of the frontend `tollgate`. What it refuses is answered as it says. What passes goes on, with
-- txn.rate_limit and txn.rate_limit_policy for the client. Without an answer txn.tollgate is `gone`.

local ADDRESS = "unix@tollgate.sock"
local URL = "http://tollgate/v1/forward-auth"

-- Above all time-outs of that backend.
local PATIENCE_MS = 60000

-- Whom a client could pretend to be, what it could pretend to ask, and what is of its connection alone.
local NOT_PASSED_ON = {
  ["host"] = true,
  ["connection"] = true,
  ["keep-alive"] = true,
  ["proxy-connection"] = true,
  ["te"] = true,
  ["trailer"] = true,
  ["upgrade"] = true,
  ["expect"] = true,
  ["content-length"] = true,
  ["transfer-encoding"] = true,
  ["x-merchant-id"] = true,
  ["x-user-id"] = true,
  ["x-original-method"] = true,
  ["x-original-uri"] = true,
  ["x-original-url"] = true,
  ["x-original-host"] = true,
  ["x-tollgate-token"] = true,
}

local function headers_of(txn)
  local headers = {}
  -- Names are in lower case; values begin at 0.
  for name, values in pairs(txn.http:req_get_headers()) do
    if not NOT_PASSED_ON[name] and name:sub(1, 12) ~= "x-forwarded-" then
      headers[name] = {}
      for _, value in pairs(values) do
        table.insert(headers[name], value)
      end
    end
  end
  headers["x-forwarded-method"] = { txn.f:method() }
  headers["x-forwarded-uri"] = { txn.f:pathq() }
  headers["x-forwarded-for"] = { txn.f:src() }
  headers["x-forwarded-host"] = { txn.f:req_fhdr("host") }
  headers["x-merchant-id"] = { txn:get_var("txn.merchant") }
  return headers
end

local function first(headers, name)
  return headers and headers[name] and headers[name][0]
end

local function refuse(txn, response)
  local reply = txn:reply({ status = response.status, body = response.body })
  for name, values in pairs(response.headers) do
    if name ~= "content-length" and name ~= "connection" and name ~= "keep-alive" and name ~= "transfer-encoding" and name ~= "date" then
      for _, value in pairs(values) do
        reply:add_header(name, value)
      end
    end
  end
  txn:done(reply)
end

core.register_action("tollgate", { "http-req" }, function(txn)
  local ok, response = pcall(function()
    return core.httpclient():get({ url = URL, dst = ADDRESS, headers = headers_of(txn), timeout = PATIENCE_MS })
  end)
  local status = ok and response and response.status or 0
  if status == 200 then
    local limit, policy = first(response.headers, "ratelimit"), first(response.headers, "ratelimit-policy")
    if limit then
      txn:set_var("txn.rate_limit", limit)
    end
    if policy then
      txn:set_var("txn.rate_limit_policy", policy)
    end
  elseif status > 0 and (status < 500 or first(response.headers, "x-request-id")) then
    -- Of Tollgate: what HAProxy itself answers if there is none has no such header.
    refuse(txn, response)
  else
    txn:set_var("txn.tollgate", "gone")
  end
end, 0)
