#include "rendezvous/etcd/etcd_text.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json/json_text.hpp"
#include "base/match.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

using nlohmann::json;

/// So much of what etcd says is shown to the user.
constexpr std::size_t kShownBytes = 200;

std::string to_base64(std::string_view text) {
  std::string encoded(4 * ((text.size() + 2) / 3) + 1, '\0');  // EVP_EncodeBlock ends it with a 0
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  encoded.resize(static_cast<std::size_t>(size));
  return encoded;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string decoded(3 * (text.size() / 4) + 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  // It counts the bytes that were only filled up, too.
  const std::size_t filled = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  decoded.resize(static_cast<std::size_t>(size) - std::min<std::size_t>(filled, decoded.size()));
  return decoded;
}

json range_of(const std::string& key) { return {{"request_range", {{"key", to_base64(key)}}}}; }

json put_of(const std::string& key, const json& value, std::int64_t lease) {
  return {{"request_put",
           {{"key", to_base64(key)},
            {"value", to_base64(json_text(value))},
            {"lease", std::to_string(lease)}}}};
}

/// The key was written at that revision; 0: it is not there.
json written_at(const std::string& key, std::int64_t revision) {
  return {{"key", to_base64(key)},
          {"target", "MOD"},
          {"result", "EQUAL"},
          {"mod_revision", std::to_string(revision)}};
}

/// Where it fails, both keys are read.
EtcdPost transaction(json compare, json success, const EtcdKeys& keys) {
  const json body{{"compare", std::move(compare)},
                  {"success", std::move(success)},
                  {"failure", json::array({range_of(keys.coordinator), range_of(keys.members)})}};
  return {"/v3/kv/txn", json_text(body)};
}

std::int64_t number_in(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return 0;
  return parse_number<std::int64_t>(found->get<std::string>()).value_or(0);
}

/// The only value of a range; null: there is none.
json value_in(const json& response) {
  const auto kvs = response.at("response_range").value("kvs", json::array());
  return kvs.empty() ? json{} : kvs.at(0);
}

json text_in(const json& value) {
  const auto text = from_base64(value.at("value").get<std::string>());
  return text ? *json_or_null(*text) : json{};
}

std::optional<KeyHolder> holder_in(const json& response) {
  const json value = value_in(response);
  if (value.is_null()) return std::nullopt;
  return KeyHolder{number_in(value, "mod_revision"),
                   text_in(value).at("endpoint").get<std::string>()};
}

MembersRecord members_in(const json& response) {
  const json value = value_in(response);
  if (value.is_null()) return {};
  const json text = text_in(value);
  return {text.at("epoch").get<std::int64_t>(), text.value("nodes", std::vector<std::string>{}),
          text.value("verdict", ""), number_in(value, "mod_revision"), text.value("attempt", 0)};
}

KeysRead keys_in(const json& responses) {
  return {holder_in(responses.at(0)), members_in(responses.at(1))};
}

/// What a transaction has done; without conditions it has read the keys.
EtcdAnswer transacted(const EtcdRequest& request, const json& body) {
  const bool succeeded = body.value("succeeded", false);
  const json& responses = body.at("responses");
  if (!succeeded || std::holds_alternative<ReadKeys>(request)) return keys_in(responses);
  const std::int64_t revision = number_in(body.at("header"), "revision");
  if (std::holds_alternative<TakeKey>(request))
    return KeyTaken{revision, members_in(responses.at(1))};
  return RecordPut{revision};
}

EtcdAnswer read(const EtcdRequest& request, const json& body) {
  using std::chrono::seconds;
  if (std::holds_alternative<GrantLease>(request))
    return LeaseGranted{number_in(body, "ID"), seconds{number_in(body, "TTL")}};
  if (std::holds_alternative<KeepLease>(request))
    return LeaseKept{seconds{number_in(body.at("result"), "TTL")}};
  return transacted(request, body);
}

Error no_answer(std::string_view body) {
  return invalid("what is there does not answer as etcd does: " +
                 printable(body.substr(0, kShownBytes)));
}

/// What etcd says against a request; nullopt: it is nothing that etcd says.
std::optional<std::string> refusal_in(std::string_view body) {
  const ParsedJson parsed = json_or_null(body);
  const json& said = *parsed;
  if (!said.is_object()) return std::nullopt;
  for (const char* name : {"message", "error"})
    if (const auto text = said.find(name); text != said.end() && text->is_string())
      return plain_line(text->get<std::string>().substr(0, kShownBytes));
  return std::nullopt;
}

}  // namespace

EtcdKeys keys_of(const std::string& prefix, const std::string& run_id) {
  const std::string folder = prefix + "/" + run_id + "/";
  return {folder + "coordinator", folder + "members"};
}

EtcdPost post_of(const EtcdRequest& request, const EtcdKeys& keys, const std::string& endpoint) {
  return match(
      request,
      [&](const ReadKeys&) -> EtcdPost {
        const json both = json::array({range_of(keys.coordinator), range_of(keys.members)});
        return {"/v3/kv/txn", json_text(json{{"success", both}})};
      },
      [&](const GrantLease& r) -> EtcdPost {
        return {"/v3/lease/grant", json_text(json{{"TTL", std::to_string(r.ttl.count())}})};
      },
      [&](const KeepLease& r) -> EtcdPost {
        return {"/v3/lease/keepalive", json_text(json{{"ID", std::to_string(r.lease)}})};
      },
      [&](const TakeKey& r) {
        return transaction(json::array({written_at(keys.coordinator, r.from_epoch)}),
                           json::array({put_of(keys.coordinator, {{"endpoint", endpoint}}, r.lease),
                                        range_of(keys.members)}),
                           keys);
      },
      [&](const PutMembers& r) {
        const json members{
            {"epoch", r.epoch}, {"nodes", r.members.nodes}, {"attempt", r.members.attempt}};
        return transaction(json::array({written_at(keys.coordinator, r.epoch),
                                        written_at(keys.members, r.members.revision)}),
                           json::array({put_of(keys.members, members, r.lease)}), keys);
      },
      [&](const PutVerdict& r) {
        const json members{{"epoch", r.epoch}, {"verdict", r.verdict}};
        const json removal{{"request_delete_range", {{"key", to_base64(keys.coordinator)}}}};
        return transaction(json::array({written_at(keys.coordinator, r.epoch)}),
                           json::array({put_of(keys.members, members, r.lease), removal}), keys);
      });
}

Result<EtcdAnswer> answer_of(const EtcdRequest& request, unsigned status,
                             std::string_view body) try {
  if (status != 200) {
    if (const auto refusal = refusal_in(body))
      return Error{Error::Kind::kUnavailable, "etcd says: " + *refusal};
    return Error{Error::Kind::kInvalid,
                 "what is there is no etcd with API v3: it answers with status " +
                     std::to_string(status) + " of HTTP"};
  }
  const auto parsed = parse_json(body);
  if (!parsed) return no_answer(body);
  const json& said = **parsed;
  if (said.contains("error"))
    return Error{Error::Kind::kUnavailable, "etcd says: " + refusal_in(body).value_or("no")};
  return read(request, said);
} catch (const json::exception&) {
  return no_answer(body);
}

}  // namespace ddprun
