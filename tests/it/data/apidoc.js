const apiSchema = [
 {
  "children": [
   {
    "children": [
     {
      "children": [
       {
        "children": [
         {
          "info": {
           "GET": {
            "description": "Tell how the brewing stands.",
            "method": "GET",
            "name": "brew_status",
            "parameters": {"additionalProperties": 0, "properties": {
             "node": {"description": "Where.", "format": "pve-node", "type": "string"},
             "vmid": {"description": "Which.", "format": "pve-vmid", "maximum": 999999999, "minimum": 100, "type": "integer"}}},
            "permissions": {"check": ["perm", "/vms/{vmid}", ["VM.Audit"]]},
            "returns": {"properties": {"state": {"description": "Cold, warm or ready.", "type": "string"}}, "type": "object"}
           },
           "POST": {
            "description": "Brew something.\nIt takes a while.",
            "method": "POST",
            "name": "brew",
            "parameters": {"additionalProperties": 0, "properties": {
             "node": {"description": "Where.", "format": "pve-node", "type": "string"},
             "vmid": {"description": "Which.", "format": "pve-vmid", "maximum": 999999999, "minimum": 100, "type": "integer"},
             "cup[n]": {"description": "A cup.", "optional": 1, "type": "string", "typetext": "[size=]<size>", "format": {
              "size": {"default_key": 1, "description": "How much fits in.", "enum": ["small", "large"], "type": "string"}}},
             "strength": {"default": 3, "description": "How strong.", "maximum": 5, "minimum": 1, "optional": 1, "type": "integer"}}},
            "permissions": {"check": ["perm", "/vms/{vmid}", ["VM.Config.Options"]]},
            "protected": 1,
            "proxyto": "node",
            "returns": {"type": "string"}
           }
          },
          "leaf": 1,
          "path": "/nodes/{node}/lxc/{vmid}/brew",
          "text": "brew"
         }
        ],
        "leaf": 0,
        "path": "/nodes/{node}/lxc/{vmid}",
        "text": "{vmid}"
       }
      ],
      "leaf": 0,
      "path": "/nodes/{node}/lxc",
      "text": "lxc"
     },
     {
      "info": {
       "POST": {
        "description": "Start it.",
        "method": "POST",
        "name": "vm_start",
        "parameters": {"additionalProperties": 0, "properties": {
         "node": {"format": "pve-node", "type": "string"},
         "vmid": {"format": "pve-vmid", "maximum": 999999999, "minimum": 100, "type": "integer"},
         "gently": {"description": "Without haste.", "optional": 1, "type": "boolean"}}},
        "permissions": {"check": ["perm", "/vms/{vmid}", ["VM.PowerMgmt"]]},
        "protected": 1,
        "proxyto": "node",
        "returns": {"type": "string"}
       }
      },
      "leaf": 1,
      "path": "/nodes/{node}/qemu/{vmid}/status/start",
      "text": "start"
     }
    ],
    "leaf": 0,
    "path": "/nodes/{node}",
    "text": "{node}"
   }
  ],
  "leaf": 0,
  "path": "/nodes",
  "text": "nodes"
 },
 {
  "info": {
   "GET": {
    "description": "List teapots.",
    "method": "GET",
    "name": "teapots",
    "parameters": {"additionalProperties": 0},
    "permissions": {"user": "all"},
    "returns": {"items": {"properties": {}, "type": "object"}, "links": [{"href": "{name}", "rel": "child"}], "type": "array"}
   }
  },
  "leaf": 1,
  "path": "/teapots",
  "text": "teapots"
 }
]
;
Ext.onReady(function() { let never = ["read", {"path": "/evil", "info": {}}]; });
